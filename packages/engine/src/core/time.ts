import { invalidRequest, parseTime, TIME_MUST } from '@memoryd/contract';
import type { Clock } from '../ports/runtime.ts';

/** Returns the milliseconds since 1970 of a time. INVALID_REQUEST, naming the field, for any other text. */
export function toMs(time: string, field: string, edge: 'first' | 'last' = 'first'): number {
  const ms = parseTime(time, edge);
  if (ms !== undefined) return ms;
  throw invalidRequest([{ path: `/${field}`, message: `${field} must ${TIME_MUST}` }]);
}

export function toMsOrNull(timestamp: string | null | undefined, field: string): number | null {
  return timestamp === null || timestamp === undefined ? null : toMs(timestamp, field);
}

export function toTimestamp(ms: number): string {
  return new Date(ms).toISOString();
}

export function toTimestampOrNull(ms: number | null): string | null {
  return ms === null ? null : toTimestamp(ms);
}

/** A clock that is set back by more has been wrong for so long that its times say less than the new ones. */
const MAX_HELD_MS = 24 * 60 * 60 * 1000;

/**
 * The time at which memories arrive: never before the one that arrived last, so that a clock that is set back does not
 * change their order. While it is behind by at most a day, what arrives is given the time of the last arrival.
 */
export class ArrivalClock implements Clock {
  readonly #clock: Clock;
  #last = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    const now = this.#clock.now();
    if (now > this.#last || this.#last - now > MAX_HELD_MS) this.#last = now;
    return this.#last;
  }
}

/** Longest pause, however long the work before it took. */
const MAX_PAUSE_MS = 100;

/**
 * Does a part of some work that nobody waits for, and then lets others have the machine for as long as it took, or for
 * 100 ms where that is less; rejects at once where the work fails.
 */
export async function paced<T>(work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const done = await work();
  const tookMs = performance.now() - startedAt;
  await new Promise((resolve) => setTimeout(resolve, Math.min(tookMs, MAX_PAUSE_MS)));
  return done;
}
