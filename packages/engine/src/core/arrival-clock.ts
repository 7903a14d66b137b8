import type { Clock } from '../ports/clock.ts';

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
