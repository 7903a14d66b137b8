import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { type Figures, percentilesMs } from './figures.ts';

const WRITES = 200;
const BLOCK_BYTES = 4096;

/** Measures the time to write and sync 4 KiB: a lower bound for the time of an acknowledged write. */
export function measureDisk(folder: string): Figures {
  const path = join(folder, 'disk-probe');
  const file = openSync(path, 'w');
  const block = Buffer.alloc(BLOCK_BYTES, 1);
  try {
    const durationsMs = Float64Array.from({ length: WRITES }, () => {
      const startMs = performance.now();
      writeSync(file, block);
      fdatasyncSync(file);
      return performance.now() - startMs;
    });
    return { writes: WRITES, ...percentilesMs(durationsMs, [50, 99]) };
  } finally {
    closeSync(file);
    rmSync(path);
  }
}
