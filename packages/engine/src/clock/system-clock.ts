import type { Clock } from '../ports/runtime.ts';

/** The machine's own clock. */
export const systemClock: Clock = { now: () => Date.now() };
