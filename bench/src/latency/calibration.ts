import { createHash } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { type Figures, roundFigure } from './figures.ts';

const block = Buffer.alloc(2 ** 20, 'memoryd');
// Long enough to include interruptions by other processes.
const ROUNDS = 100;

/**
 * Adds `unit_ms` to a step's figures: the time of a SHA-256 of 1 MiB on this machine, in ms. The lower of the values
 * before and after the step counts, because the server may still be busy after it. Speed differs between machines and
 * from minute to minute; times divided by the unit, and rates multiplied by it, vary less.
 */
export async function withUnit(measure: () => Promise<Figures>): Promise<Figures> {
  const beforeMs = measureHashMs();
  const figures = await measure();
  return { ...figures, unit_ms: roundFigure(Math.min(beforeMs, measureHashMs())) };
}

/** Returns the mean and not the minimum, so that interruptions count. */
function measureHashMs(): number {
  const startMs = performance.now();
  for (let round = 0; round < ROUNDS; round++) createHash('sha256').update(block).digest();
  return (performance.now() - startMs) / ROUNDS;
}
