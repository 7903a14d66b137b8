import type { GrowthRequest } from '@memoryd/contract';
import type { TimeZone } from '@memoryd/contract/time-zone';

/** The length of the periods of a growth. */
export type Step = GrowthRequest['step'];

export const DAY_MS = 24 * 60 * 60 * 1000;
const DAYS_OF_WEEK = 7;
/** Number of the day 1970-01-05, which is a Monday. Days are numbered from 1970-01-01, which is 0. */
const MONDAY = 4;

/** Before the first time a zone has one offset. From the second on, the offsets of the year after it repeat. */
const RULES_CHANGE = { from: Date.UTC(1840, 0), until: Date.UTC(2040, 0) };
const YEAR_MS = 366 * DAY_MS;

/** The periods of one length in a time zone. Times are ms since 1970. */
export class Periods {
  readonly #step: Step;
  readonly #zone: TimeZone;
  /** Offsets at the beginning of weeks, by number of the week. */
  readonly #offsets = new Map<number, number>();

  constructor(step: Step, zone: TimeZone) {
    this.#step = step;
    this.#zone = zone;
  }

  /**
   * Returns the beginning of the period that contains a time. A period begins when the clocks show its first midnight,
   * or the first time after it if the clocks skip midnight.
   */
  getStart(time: number): number {
    const first = getFirstDay(this.#step, Math.floor((time + this.#getOffset(time)) / DAY_MS));
    // Clocks that are set back after midnight show the previous day again, which is part of the period that has begun.
    const next = this.#getDayStart(getNextDay(this.#step, first));
    return next <= time ? next : this.#getDayStart(first);
  }

  /** Returns the times of the UTC day, in ms after its midnight, at which days begin between two times. Sorted. */
  getDayStarts(from: number, until: number): number[] {
    const times = new Set<number>();
    const first = Math.max(RULES_CHANGE.from, Math.min(from, RULES_CHANGE.until));
    const last = Math.max(first, Math.min(until, RULES_CHANGE.until + YEAR_MS));
    for (let week = toWeek(first) - 1; week <= toWeek(last); week++) {
      const offset = this.#getWeekOffset(week);
      times.add(toTimeOfDay(-offset));
      if (offset === this.#getWeekOffset(week + 1)) continue;
      const firstDay = week * DAYS_OF_WEEK;
      for (let day = firstDay - 1; day <= firstDay + DAYS_OF_WEEK + 1; day++)
        times.add(toTimeOfDay(this.#getDayStart(day)));
    }
    return [...times].sort((one, other) => one - other);
  }

  /** Returns the first time at which the clocks show a day. */
  #getDayStart(day: number): number {
    const midnight = day * DAY_MS;
    const [before, after] = [midnight - DAY_MS, midnight + DAY_MS];
    const [offset, offsetAfter] = [this.#getOffset(before), this.#getOffset(after)];
    const start = midnight - offset;
    if (offset === offsetAfter) return start;
    const change = this.#getChange(before, after);
    return start < change ? start : Math.max(change, midnight - offsetAfter);
  }

  /** Returns the time at which the offset changes, between two times with different offsets. */
  #getChange(from: number, until: number): number {
    const offset = this.#zone.getOffsetMs(from);
    let [before, after] = [from, until];
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2);
      if (this.#zone.getOffsetMs(middle) === offset) before = middle;
      else after = middle;
    }
    return after;
  }

  /** Zones do not change their offset twice in a week. */
  #getOffset(time: number): number {
    const week = toWeek(time);
    const offset = this.#getWeekOffset(week);
    return offset === this.#getWeekOffset(week + 1) ? offset : this.#zone.getOffsetMs(time);
  }

  #getWeekOffset(week: number): number {
    let offset = this.#offsets.get(week);
    if (offset === undefined) {
      offset = this.#zone.getOffsetMs(week * DAYS_OF_WEEK * DAY_MS);
      this.#offsets.set(week, offset);
    }
    return offset;
  }
}

function toWeek(time: number): number {
  return Math.floor(time / (DAYS_OF_WEEK * DAY_MS));
}

function toTimeOfDay(time: number): number {
  return ((time % DAY_MS) + DAY_MS) % DAY_MS;
}

/** Returns the first day of the period that contains a day. */
function getFirstDay(step: Step, day: number): number {
  if (step === 'day') return day;
  if (step === 'week') return day - ((((day - MONDAY) % DAYS_OF_WEEK) + DAYS_OF_WEEK) % DAYS_OF_WEEK);
  return day + 1 - new Date(day * DAY_MS).getUTCDate();
}

/** Returns the first day of the period after the one that begins with a day. */
function getNextDay(step: Step, first: number): number {
  if (step === 'day') return first + 1;
  if (step === 'week') return first + DAYS_OF_WEEK;
  const date = new Date(first * DAY_MS);
  return Math.round(date.setUTCMonth(date.getUTCMonth() + 1) / DAY_MS);
}
