import type { GrowthResponse } from '@memoryd/client';
import { describe, expect, it } from 'vitest';
import {
  fillPeriods,
  findPeriods,
  formatPeriod,
  getBegin,
  getNext,
  getReadableStep,
  parseDates,
  toDates,
} from './periods.ts';

const at = (year: number, month: number, day: number) => new Date(year, month - 1, day).getTime();
const growth = (...counts: [from: number, count: number][]): GrowthResponse => ({
  steps: counts.map(([from, count]) => ({ from: new Date(from).toISOString(), count })),
  total: counts.reduce((sum, [, count]) => sum + count, 0),
});

describe('a timeline', () => {
  it('includes the periods without memories, and at least 24', () => {
    const months = fillPeriods(growth([at(2026, 7, 1), 4], [at(2026, 10, 1), 1]), 'month');
    expect(months).toHaveLength(24);
    expect(months.slice(-5).map(({ from, count }) => [formatPeriod(from, 'month'), count])).toEqual([
      ['June 2026', 0],
      ['July 2026', 4],
      ['August 2026', 0],
      ['September 2026', 0],
      ['October 2026', 1],
    ]);
  });

  it('follows the clocks through days of 23 and 25 hours', () => {
    // A year has both changes in every zone that has them.
    const year = fillPeriods(growth([at(2026, 1, 1), 1], [at(2026, 12, 31), 1]), 'day');
    expect(year).toHaveLength(365);
    for (const [i, { to }] of year.entries()) expect(to).toBe(year[i + 1]?.from ?? at(2027, 1, 1));
  });

  it('adds up the days of a month, also by value', () => {
    const days = growth([at(2026, 10, 1), 4], [at(2026, 10, 31), 1], [at(2026, 11, 1), 2]);
    const steps = days.steps.map((step, i) => ({ ...step, values: [step.count - i, i] }));
    expect(fillPeriods({ ...days, steps }, 'month').slice(-2)).toEqual([
      { from: at(2026, 10, 1), to: at(2026, 11, 1), count: 5, values: [4, 1] },
      { from: at(2026, 11, 1), to: at(2026, 12, 1), count: 2, values: [0, 2] },
    ]);
  });

  it('leaves out the oldest of more than 8,000 periods', () => {
    const days = fillPeriods(growth([at(1200, 1, 1), 1], [at(2026, 10, 1), 1]), 'day');
    expect(days).toHaveLength(8000);
    expect(days.at(-1)?.from).toBe(at(2026, 10, 1));
  });

  it('finds the periods that dates touch', () => {
    const months = fillPeriods(growth([at(2024, 1, 1), 1], [at(2026, 10, 1), 1]), 'month');
    const find = (query: string) => {
      const dates = parseDates(new URLSearchParams(query));
      const range = dates && findPeriods(months, dates);
      return range && [range.first, range.last];
    };
    expect(find('since=2024-02-10T12:00:00Z&until=2024-03-20T12:00:00Z')).toEqual([1, 2]);
    expect(find('since=2026-09-20T12:00:00Z')).toEqual([32, 33]);
    expect(find('until=2023-09-20T12:00:00Z')).toBeUndefined();
    expect(find('since=soon')).toBeUndefined();
  });

  it('begins weeks on Monday', () => {
    // 1 November 2026 is a Sunday.
    expect(getBegin(at(2026, 11, 1), 'week')).toBe(at(2026, 10, 26));
    expect(getBegin(at(2026, 11, 2), 'week')).toBe(at(2026, 11, 2));
    expect(getNext(at(2026, 10, 26), 'week')).toBe(at(2026, 11, 2));
    expect(formatPeriod(at(2026, 10, 26), 'week')).toBe('Week of 26 Oct 2026');
  });

  it('chooses the longest readable number of bars', () => {
    const from = at(2024, 1, 1);
    expect(getReadableStep(growth())).toBe('day');
    expect(getReadableStep(growth([from, 1], [at(2024, 3, 1), 1]))).toBe('day');
    expect(getReadableStep(growth([from, 1], [at(2026, 1, 1), 1]))).toBe('week');
    expect(getReadableStep(growth([from, 1], [at(2029, 1, 1), 1]))).toBe('month');
  });

  it('sets dates that end with the last millisecond of a period', () => {
    const october = fillPeriods(growth([at(2026, 10, 1), 1]), 'month').at(-1);
    expect(october && toDates(october, october)).toEqual({
      since: new Date(at(2026, 10, 1)).toISOString(),
      until: new Date(at(2026, 11, 1) - 1).toISOString(),
    });
  });
});
