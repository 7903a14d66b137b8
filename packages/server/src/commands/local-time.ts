/** A date without a time. */
const BARE_DATE = /^(\d{4})-(\d\d)-(\d\d)$/;

/** First and last instant whose UTC year has four digits, as times in requests and responses must have. */
const FIRST_MS = Date.parse('0000-01-01T00:00:00Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

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
  if (utc || year === undefined) return text;
  const midnight = getMidnight(Number(year), Number(month) - 1, Number(day));
  // Date accepts 31 February as a day in March. The service refuses the unchanged text.
  if (new Date(`${text}T00:00:00Z`).getUTCDate() !== Number(day)) return text;
  const next = getMidnight(Number(year), Number(month) - 1, Number(day) + 1);
  const instant = edge === 'first' ? midnight.getTime() : next.getTime() - 1;
  return new Date(Math.min(Math.max(instant, FIRST_MS), LAST_MS)).toISOString();
}

/** Returns the first instant of a day in the time zone of the process; after a gap at midnight, the end of the gap. */
function getMidnight(year: number, month: number, day: number): Date {
  const midnight = new Date(2000, 0, 1);
  // The constructor reads the years 0 to 99 as 1900 to 1999.
  midnight.setFullYear(year, month, day);
  return midnight;
}
