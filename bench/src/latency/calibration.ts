import { createHash } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { type Figures, roundFigure } from './figures.ts';

const block = Buffer.alloc(2 ** 20, 'memoryd');
// Number of hashes per measurement: enough to include interruptions by other processes.
const ROUNDS = 100;

/**
 * Adds `unit_ms` to a step's figures: the time in ms of a SHA-256 of 1 MiB on this machine. The time is measured before
 * and after the step, and the lower value is used, because the server may still be busy after the step. Speed differs
 * between machines and from minute to minute. Times divided by `unit_ms`, and rates multiplied by `unit_ms`, vary less.
 */
export async function withUnit(measure: () => Promise<Figures>): Promise<Figures> {
  const beforeMs = measureHashMs();
  const figures = await measure();
  return { ...figures, unit_ms: roundFigure(Math.min(beforeMs, measureHashMs())) };
}

/** Returns the mean time of a hash. The minimum would hide interruptions by other processes. */
function measureHashMs(): number {
  const startMs = performance.now();
  for (let round = 0; round < ROUNDS; round++) createHash('sha256').update(block).digest();
  return (performance.now() - startMs) / ROUNDS;
}
