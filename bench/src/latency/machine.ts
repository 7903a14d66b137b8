import { availableParallelism, cpus, totalmem } from 'node:os';

/** Hardware and platform of a measurement, without anything that identifies the individual machine. */
export interface Machine {
  cpus: number;
  cpu: string;
  memory_gb: number;
  platform: string;
  node: string;
}

export function describeMachine(): Machine {
  return {
    cpus: availableParallelism(),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    memory_gb: Math.round(totalmem() / 2 ** 30),
    platform: `${process.platform} ${process.arch}`,
    node: process.version,
  };
}
