import type { Settling } from '../ports/storage-sleep.ts';

/** From when on a memory lies so far ahead of the clock that it is old enough to settle. See `Settling`. */
export function aheadFrom({ settledUntil, now }: Settling): number {
  return 2 * now - settledUntil;
}

/** Memories, at most a 64th of the working maximum, that settle ahead: a full tier would settle one at every store. */
const SETTLED_AHEAD = 256;

/** Most that settle at one store: an undo may have filled the tier far beyond, and others wait for this one to end. */
const SETTLED_AT_ONCE = 1024;

/**
 * How many of the oldest settle at a store that leaves a namespace with so many working memories: what is over three
 * quarters of the maximum, so that the tier never nears its alert.
 */
export function settledByStore(working: number, workingMax: number): number {
  const excess = working - Math.floor((workingMax * 3) / 4);
  if (excess <= 0) return 0;
  const ahead = Math.min(SETTLED_AHEAD, Math.floor(workingMax / 64));
  return Math.min(excess + ahead, SETTLED_AT_ONCE);
}
