import { describe, expect, it } from 'vitest';
import { getTicks, getTop } from './axis.ts';
import { fillPeriods, type Step } from './periods.ts';

const fill = (first: Date, last: Date, step: Step) =>
  fillPeriods({ steps: [first, last].map((from) => ({ from: from.toISOString(), count: 1 })), total: 2 }, step);

describe('the axes of the bars', () => {
  it.each([
    [1, 1],
    [3, 3],
    [5, 6],
    [97, 100],
    [257, 300],
    [2001, 3000],
  ])('end above a count of %i at the round number %i', (count, top) => {
    expect(getTop(count)).toBe(top);
  });

  it('name days, months, quarters or years, as many as fit', () => {
    const labels = (...[first, last, step, widthPx]: [Date, Date, Step, number]) =>
      getTicks(fill(first, last, step), widthPx).map(({ label }) => label);
    expect(labels(new Date(2026, 10, 7), new Date(2026, 10, 30), 'day', 300)).toEqual(['9 Nov', '16 Nov', '23 Nov']);
    expect(labels(new Date(2025, 8, 3), new Date(2026, 2, 20), 'day', 600)).toEqual([
      ...['Oct', 'Nov', 'Dec', '2026', 'Feb', 'Mar'],
    ]);
    expect(labels(new Date(2024, 10, 5), new Date(2026, 10, 5), 'month', 700)).toEqual([
      ...['2025', 'Apr', 'Jul', 'Oct', '2026', 'Apr', 'Jul', 'Oct'],
    ]);
    expect(labels(new Date(2016, 10, 5), new Date(2026, 10, 5), 'month', 400)).toEqual([
      ...['2018', '2020', '2022', '2024', '2026'],
    ]);
  });

  it('begin no label where it would be cut off', () => {
    const weeks = fill(new Date(2025, 0, 6), new Date(2026, 0, 5), 'week');
    expect(getTicks(weeks, 600).map(({ label }) => label)).not.toContain('2026');
  });
});
