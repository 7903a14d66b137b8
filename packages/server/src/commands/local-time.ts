import { MAX_TIME_MS, MIN_TIME_MS, parseTime } from '@memoryd/contract';

/** A date without a time. */
const BARE_DATE = /^(\d{4})-(\d\d)-(\d\d)$/;

export interface TimeFlags {
  /** Whether times are shown, and dates are read, in UTC instead of the time zone of the process. */
  utc?: true;
}

/** Formats a time for people: `2026-01-31 09:30` in the time zone of the process, or `2026-01-31 09:30Z` in UTC. */
export function toShortTime(iso: string, { utc }: TimeFlags): string {
  if (utc) return `${new Date(iso).toISOString().slice(0, 16).replace('T', ' ')}Z`;
  // The Swedish format is ISO 8601 with a space.
  return new Date(iso).toLocaleString('sv').replace(/:\d\d$/, '');
}

/**
 * Converts a date without a time to an instant of that day in the time zone of the process. Returns any other text
 * unchanged, and with `utc` also a date, which the service reads in UTC.
 *
 * @param edge the first or the last millisecond of the day
 */
export function toInstant(text: string, edge: 'first' | 'last', { utc }: TimeFlags): string {
  const [, year, month, day] = BARE_DATE.exec(text) ?? [];
  // The service refuses a day that does not exist, which `Date` would accept as a later day.
  if (utc || year === undefined || parseTime(text) === undefined) return text;
  const getMidnightAfter = (days: number) => getMidnight(Number(year), Number(month) - 1, Number(day) + days);
  const instant = edge === 'first' ? getMidnightAfter(0) : getMidnightAfter(1) - 1;
  return new Date(Math.min(Math.max(instant, MIN_TIME_MS), MAX_TIME_MS)).toISOString();
}

/**
 * Returns the first instant of a day in the time zone of the process, in ms since 1970. If midnight does not exist on
 * that day, returns the end of the gap.
 */
function getMidnight(year: number, month: number, day: number): number {
  // Not the constructor of a date, which reads the years 0 to 99 as 1900 to 1999.
  return new Date(2000, 0, 1).setFullYear(year, month, day);
}
