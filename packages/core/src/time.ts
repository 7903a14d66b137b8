import { invalidRequest, parseTime, TIME_MUST } from '@memoryd/contract';
import type { Clock } from './ports/runtime.ts';

/**
 * Returns the milliseconds since 1970 of a time. Throws INVALID_REQUEST, naming the field, for a text that is not a
 * time.
 *
 * @param edge whether a period such as a day stands for its first or its last millisecond
 */
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

/**
 * Maximum time by which the clock may be set back while `ArrivalClock` repeats the last time. If the clock is set back
 * further, the new time is used.
 */
const MAX_HELD_MS = 24 * 60 * 60 * 1000;

/**
 * Clock for the times at which memories are stored. A clock that is set back by at most a day does not change the order
 * of memories: until the clock has caught up, new memories get the time of the last stored memory.
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

const MAX_PAUSE_MS = 100;

/**
 * Does a part of background work, then pauses for as long as the part took, at most 100 ms, so that other work can run.
 * Rejects without a pause if the work fails.
 */
export async function paced<T>(work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const done = await work();
  const tookMs = performance.now() - startedAt;
  await new Promise((resolve) => setTimeout(resolve, Math.min(tookMs, MAX_PAUSE_MS)));
  return done;
}

/** Maximum time of work without I/O before other work can run. */
const MAX_BUSY_MS = 20;

/** Yields the items, and lets other work run at least every 20 ms, also if nothing that is done with the items waits. */
export async function* withPauses<T>(items: AsyncIterable<T>): AsyncIterable<T> {
  let pausedAt = performance.now();
  for await (const item of items) {
    yield item;
    if (performance.now() - pausedAt < MAX_BUSY_MS) continue;
    await new Promise((resolve) => setImmediate(resolve));
    pausedAt = performance.now();
  }
}
