import type { AskedDate } from '../../ports/ranking.ts';

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
