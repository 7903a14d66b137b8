import { invalidRequest } from '@memoryd/contract';
import type { Clock } from '../ports/runtime.ts';

/** The instants that can be written with a year of four digits. */
const FIRST_MS = Date.parse('0000-01-01T00:00:00Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Milliseconds since 1970 of a validated timestamp. INVALID_REQUEST, naming the field, when its zone takes it out of
 * the years from 0000 to 9999.
 */
export function toMs(timestamp: string, field: string): number {
  // A leap second, which RFC 3339 allows and the language's parser does not, counts as the second before it.
  const ms = Date.parse(
    timestamp
      .replace(/:60(?=[.Zz+-])/, ':59')
      .toUpperCase()
      .replace(' ', 'T'),
  );
  if (ms >= FIRST_MS && ms <= LAST_MS) return ms;
  throw invalidRequest([{ path: `/${field}`, message: `${field} must be in the years 0000 to 9999 in UTC` }]);
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
const MOST_HELD_MS = 24 * 60 * 60 * 1000;

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
    if (now > this.#last || this.#last - now > MOST_HELD_MS) this.#last = now;
    return this.#last;
  }
}

/** Longest pause, however long the work before it took. */
const LONGEST_PAUSE_MS = 100;

/**
 * Does a part of some work that nobody waits for, and then lets others have the machine for as long as it took, or for
 * 100 ms where that is less; rejects at once where the work fails.
 */
export async function paced<T>(work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const done = await work();
  const tookMs = performance.now() - startedAt;
  await new Promise((resolve) => setTimeout(resolve, Math.min(tookMs, LONGEST_PAUSE_MS)));
  return done;
}
