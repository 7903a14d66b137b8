import { createHash } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { type Figures, rounded } from './figures.ts';

const block = Buffer.alloc(2 ** 20, 'memoryd');
// Long enough to be interrupted by whatever else the machine does.
const ROUNDS = 100;

/**
 * Adds `unit_ms` to a step's figures: how long this machine took for the SHA-256 of 1 MiB, just before or just after the
 * step, whichever was faster, since the server may go on working afterwards. Machines differ, and one machine differs
 * from minute to minute; a time over this unit, or a rate times it, differs less.
 */
export async function withUnit(measure: () => Promise<Figures>): Promise<Figures> {
  const beforeMs = hashMs();
  const figures = await measure();
  return { ...figures, unit_ms: rounded(Math.min(beforeMs, hashMs())) };
}

/** The mean, which an interruption lengthens. */
function hashMs(): number {
  const startMs = performance.now();
  for (let round = 0; round < ROUNDS; round++) createHash('sha256').update(block).digest();
  return (performance.now() - startMs) / ROUNDS;
}
