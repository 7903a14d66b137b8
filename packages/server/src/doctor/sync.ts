import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Finding } from './finding.ts';

const WRITES = 50;
const WRITE_BYTES = 4096;

/** Beyond it, a store alone is felt. */
const SLOW_MS = 20;

/** Measures how long the disk of a folder takes to keep one write, which every store waits for. */
export async function checkSync(folder: string): Promise<Finding> {
  const times = await syncTimes(join(folder, `.memoryd-doctor-${process.pid}`));
  const median = times[Math.floor(times.length / 2)] ?? 0;
  const slowest = times.at(-1) ?? 0;
  const found = `a write is on disk after ${ms(median)} (median of ${WRITES}; slowest ${ms(slowest)})`;
  if (median <= SLOW_MS) return { check: 'sync', state: 'ok', found };
  const advice = 'put the database on a local SSD, or store in batches, which share one write';
  return { check: 'sync', state: 'warning', found, advice };
}

/** Milliseconds of each write, fastest first. */
async function syncTimes(path: string): Promise<number[]> {
  const file = await open(path, 'wx', 0o600);
  try {
    const bytes = Buffer.alloc(WRITE_BYTES, 1);
    const times: number[] = [];
    for (let i = 0; i < WRITES; i++) {
      const begunAt = performance.now();
      await file.write(bytes);
      await file.datasync();
      times.push(performance.now() - begunAt);
    }
    return times.sort((a, b) => a - b);
  } finally {
    await file.close();
    await rm(path, { force: true });
  }
}

function ms(time: number): string {
  return `${time.toFixed(2)} ms`;
}
