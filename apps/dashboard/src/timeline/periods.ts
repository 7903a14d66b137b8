import type { GrowthResponse } from '@memoryd/client';

export const STEPS = ['day', 'week', 'month'] as const;
export type Step = (typeof STEPS)[number];

/** A day, week or month in the time zone of the browser. `from` is inclusive, `to` exclusive; ms since 1970. */
export interface Period {
  from: number;
  to: number;
  count: number;
  /** Numbers of memories by the values of a field, in their order. Absent without a field. */
  values?: readonly number[];
}

/** Indexes of periods, both inclusive. */
export interface Range {
  first: number;
  last: number;
}

/** The dates of a filter, both inclusive, in ms since 1970; infinite where the filter has none. */
export interface Dates {
  begin: number;
  end: number;
}

/** The longest time between the first and the last memory that is shown by days, and by weeks. */
const MAX_DAYS = 92;
const MAX_WEEKS = 120;
const DAY_MS = 86_400_000;

/** Maximum number of periods; older ones are left out. */
const MAX_PERIODS = 8000;
/** Periods that are shown at least, so that few memories do not make a wide bar. */
const MIN_PERIODS = 24;

/** Returns the step in which a growth by days has a readable number of bars. */
export function getReadableStep(days: GrowthResponse): Step {
  const [first, last] = [days.steps[0], days.steps.at(-1)];
  if (!first || !last) return 'day';
  const span = (Date.parse(last.from) - Date.parse(first.from)) / DAY_MS;
  if (span <= MAX_DAYS) return 'day';
  return span <= MAX_WEEKS * 7 ? 'week' : 'month';
}

/** Returns the beginning of the period after the one that begins at a time. */
export function getNext(from: number, step: Step): number {
  const begin = new Date(from);
  const [year, month, day] = [begin.getFullYear(), begin.getMonth(), begin.getDate()];
  if (step === 'month') return new Date(year, month + 1, 1).getTime();
  return new Date(year, month, day + (step === 'week' ? 7 : 1)).getTime();
}

/** Returns the beginning of the period of a time. Weeks begin on Monday. */
export function getBegin(at: number, step: Step): number {
  const time = new Date(at);
  const [year, month, day] = [time.getFullYear(), time.getMonth(), time.getDate()];
  if (step === 'month') return new Date(year, month, 1).getTime();
  return new Date(year, month, day - (step === 'week' ? (time.getDay() + 6) % 7 : 0)).getTime();
}

/** Returns the periods with memories by their beginning. Adds up the days of a growth to weeks and months. */
export function groupPeriods({ steps }: GrowthResponse, step: Step): Map<number, Period> {
  const periods = new Map<number, Period>();
  for (const { from, count, values } of steps) {
    const begin = getBegin(Date.parse(from), step);
    const before = periods.get(begin);
    periods.set(begin, {
      from: begin,
      to: getNext(begin, step),
      count: (before?.count ?? 0) + count,
      ...(values && { values: values.map((value, i) => value + (before?.values?.[i] ?? 0)) }),
    });
  }
  return periods;
}

/** Returns all periods up to the last with memories, including those without. */
export function fillPeriods(growth: GrowthResponse, step: Step): Period[] {
  const known = groupPeriods(growth, step);
  const begins = [...known.keys()];
  const [first, last] = [begins[0], begins.at(-1)];
  if (first === undefined || last === undefined) return [];
  const periods: Period[] = [];
  for (let from = last; from >= first || periods.length < MIN_PERIODS; from = getBegin(from - 1, step)) {
    if (periods.length === MAX_PERIODS) break;
    periods.push(known.get(from) ?? { from, to: getNext(from, step), count: 0 });
  }
  return periods.reverse();
}

/** Returns the times of periods as `since` and `until` of a filter, whose ends are inclusive. */
export function toDates(first: Period, last: Period): { since: string; until: string } {
  return { since: new Date(first.from).toISOString(), until: new Date(last.to - 1).toISOString() };
}

/** Returns the dates in the parameters of an address; undefined without valid dates. */
export function parseDates(params: URLSearchParams): Dates | undefined {
  const [begin, end] = [Date.parse(params.get('since') ?? ''), Date.parse(params.get('until') ?? '')];
  if (Number.isNaN(begin) && Number.isNaN(end)) return undefined;
  return {
    begin: Number.isNaN(begin) ? Number.NEGATIVE_INFINITY : begin,
    end: Number.isNaN(end) ? Number.POSITIVE_INFINITY : end,
  };
}

/** Returns the periods that the dates touch; undefined if they touch none. */
export function findPeriods(periods: readonly Period[], { begin, end }: Dates): Range | undefined {
  const first = periods.findIndex(({ to }) => to > begin);
  const last = periods.findLastIndex(({ from }) => from <= end);
  return first < 0 || last < first ? undefined : { first, last };
}

const days = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' });
const dates = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
const months = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric' });

/** Names a period: `Sat, 3 Oct 2026`, `Week of 28 Sept 2026`, `October 2026`. */
export function formatPeriod(from: number, step: Step): string {
  if (step === 'month') return months.format(from);
  return step === 'week' ? `Week of ${dates.format(from)}` : days.format(from);
}

/** Formats a date: `3 Oct 2026`. */
export const formatDay = (at: number): string => dates.format(at);

/** Formats the dates from one time to another: `3 – 9 Oct 2026`; whole months as `October 2026`. */
export function formatRange(from: number, to: number): string {
  const isMonth = from === getBegin(from, 'month') && getNext(from, 'month') === to + 1;
  return isMonth ? months.format(from) : dates.formatRange(from, to);
}
