import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Finding } from './finding.ts';

const WRITES = 50;
const WRITE_BYTES = 4096;

/** Sync time above which single stores are noticeably slow. */
const SLOW_MS = 20;

/** Measures the time that a synced write to a folder takes. Every store waits for one such write. */
export async function checkSync(folder: string): Promise<Finding> {
  const times = await measureWrites(join(folder, `.memoryd-doctor-${process.pid}`));
  const median = times[Math.floor(times.length / 2)] ?? 0;
  const slowest = times.at(-1) ?? 0;
  const found = `a synced write takes ${formatMs(median)} (median of ${WRITES}; slowest ${formatMs(slowest)})`;
  if (median <= SLOW_MS) return { check: 'sync', state: 'ok', found };
  const advice = 'put the database on a local SSD, or store in batches, which share one write';
  return { check: 'sync', state: 'warning', found, advice };
}

/** Returns the duration of each write in milliseconds, fastest first. */
async function measureWrites(path: string): Promise<number[]> {
  const file = await open(path, 'wx', 0o600);
  try {
    const bytes = Buffer.alloc(WRITE_BYTES, 1);
    const times: number[] = [];
    for (let i = 0; i < WRITES; i++) {
      const startMs = performance.now();
      await file.write(bytes);
      await file.datasync();
      times.push(performance.now() - startMs);
    }
    return times.sort((a, b) => a - b);
  } finally {
    await file.close();
    await rm(path, { force: true });
  }
}

function formatMs(time: number): string {
  return `${time.toFixed(2)} ms`;
}
