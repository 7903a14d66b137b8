/** A day or a month that a query names; of any year where it names none. Months count from 1. */
export interface AskedDate {
  year?: number;
  month: number;
  day?: number;
}

/** A number that can be a day of a month or a year. */
export const DAY_OR_YEAR = /(?<!\p{Nd})(?:[1-3]?[0-9]|(?:1[89]|20|21)[0-9]{2})(?!\p{Nd})/u;

/** Longest part of a query that is searched for dates, in UTF-16 units. */
const SEARCHED = 512;

// Parsers take a tenth of a second to load, which a start has while it waits for its threads.
const loading = import('./date-parsers.ts');

/** The date that a query names, if it names just one. */
export async function askedDate(query: string): Promise<AskedDate | undefined> {
  const searched = query.slice(0, SEARCHED);
  if (!DAY_OR_YEAR.test(searched)) return undefined;
  const { datesIn } = await loading;
  const [date, ...others] = datesIn(searched);
  return others.length === 0 ? date : undefined;
}

const DAY_MS = 86_400_000;

/** What happens on a day is told before the next week is over, and what a month brings soon after it. */
const TOLD = { daysBefore: 1, daysAfterDay: 8, daysAfterMonth: 7 };

/** Whether a memory created at a time may speak of a date. */
export function isToldAbout(date: AskedDate, createdAt: number): boolean {
  const created = new Date(createdAt).getUTCFullYear();
  const years = date.year === undefined ? [created - 1, created, created + 1] : [date.year];
  return years.some((year) => {
    const start = Date.UTC(year, date.month - 1, date.day ?? 1);
    const end = date.day === undefined ? Date.UTC(year, date.month) : start;
    const after = date.day === undefined ? TOLD.daysAfterMonth : TOLD.daysAfterDay;
    return createdAt >= start - TOLD.daysBefore * DAY_MS && createdAt < end + after * DAY_MS;
  });
}
