import { totalmem } from 'node:os';

/** Returns the memory of the machine, or the memory limit of the container if lower, in bytes. */
export function getAvailableBytes(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}
