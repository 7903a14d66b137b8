import { getBegin, type Period } from './periods.ts';

/** A label below the bars. */
export interface Tick {
  /** Index of the period that it names. */
  index: number;
  label: string;
}

/** Width in pixels of a label with the space beside it. */
const LABEL_PX = 56;

const days = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const months = new Intl.DateTimeFormat('en-GB', { month: 'short' });

const toMonth = (at: number): number => new Date(at).getFullYear() * 12 + new Date(at).getMonth();

/** The distances of labels, shortest first: each returns a number that changes where a label may stand. */
const DISTANCES: readonly ((at: number) => number)[] = [
  (at) => getBegin(at, 'day'),
  (at) => getBegin(at, 'week'),
  ...[1, 3, 6, 12, 24, 60, 120, 600, 1200].map((count) => (at: number) => Math.floor(toMonth(at) / count)),
];
/** Index of the first distance in which labels are months. */
const FIRST_MONTHS = 2;

/** Returns as many labels as can be read below periods that take up a width. */
export function getTicks(periods: readonly Period[], widthPx: number): Tick[] {
  const barPx = widthPx / periods.length;
  for (const [i, distance] of DISTANCES.entries()) {
    const indexes = findTicks(periods, distance).filter((index) => (periods.length - index) * barPx >= LABEL_PX / 2);
    if (indexes.every((index, n) => n === 0 || (index - (indexes[n - 1] as number)) * barPx >= LABEL_PX)) {
      return indexes.map((index) => ({ index, label: getLabel(periods[index] as Period, i >= FIRST_MONTHS) }));
    }
  }
  return [];
}

function findTicks(periods: readonly Period[], distance: (at: number) => number): number[] {
  return periods.flatMap(({ from, to }, i) => (distance(to - 1) === distance(from - 1) ? [] : [i]));
}

function getLabel({ from, to }: Period, isMonth: boolean): string {
  if (!isMonth) return days.format(from);
  const begin = new Date(getBegin(to - 1, 'month'));
  return begin.getMonth() === 0 ? String(begin.getFullYear()) : months.format(begin);
}

/** Returns the lowest round number that is not below a count: 1, 2, 3, 4, 6, 8 or 10 times a power of ten. */
export function getTop(count: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(count, 1)));
  return power * ([1, 2, 3, 4, 6, 8].find((factor) => factor * power >= count) ?? 10);
}
