import { describe, expect, it } from 'vitest';
import { parseTime, restorePlus, TIME_PATTERN } from './time.ts';

const toIso = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString());

describe('parseTime', () => {
  it.each([
    ['2026-01-31T09:30:00Z', '2026-01-31T09:30:00.000Z'],
    ['2026-01-31T09:30Z', '2026-01-31T09:30:00.000Z'],
    ['2026-01-31 09:30 Z', '2026-01-31T09:30:00.000Z'],
    ['2026-01-31t09:30:00.5z', '2026-01-31T09:30:00.500Z'],
    ['2026-01-31T09:30:00,25Z', '2026-01-31T09:30:00.250Z'],
    ['2026-01-31T09:30:00.123999Z', '2026-01-31T09:30:00.123Z'],
    ['2026-01-31T09:30:00+05:30', '2026-01-31T04:00:00.000Z'],
    ['2026-01-31T09:30:00+0530', '2026-01-31T04:00:00.000Z'],
    ['2026-01-31T09:30-05', '2026-01-31T14:30:00.000Z'],
    ['2026-01-31', '2026-01-31T00:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
  ])('parses %s as %s', (text, iso) => {
    expect(toIso(parseTime(text))).toBe(iso);
    expect(text).toMatch(new RegExp(TIME_PATTERN, 'u'));
  });

  it('parses a date without a time as the last millisecond of the day with edge "last"', () => {
    expect(toIso(parseTime('2026-01-31', 'last'))).toBe('2026-01-31T23:59:59.999Z');
    expect(toIso(parseTime('2026-01-31T09:30Z', 'last'))).toBe('2026-01-31T09:30:00.000Z');
  });

  it.each(['2016-12-31T23:59:60Z', '2016-12-31T23:59:60.7Z', '2017-01-01T05:29:60+05:30'])(
    'orders the leap second %s after the preceding second and before the next day',
    (leap) => {
      expect(parseTime(leap)).toBeGreaterThanOrEqual(parseTime('2016-12-31T23:59:59.999Z') as number);
      expect(parseTime(leap)).toBeLessThan(parseTime('2017-01-01T00:00:00Z') as number);
    },
  );

  it.each([
    ...['', 'now', '2026', '2026-01', '2026-1-1', '20260131', '2026-01-31T09:30', '2026-01-31T09:30:00'],
    ...['2026-02-30', '2025-02-29T00:00:00Z', '2026-13-01', '2026-04-31T00:00Z', '2026-01-31T24:00Z'],
    ...['2026-01-31T09:60Z', '2026-01-31T09:30:60Z', '2026-01-31T09:30:61Z', '2026-01-31T09:30:00.Z'],
    ...['2026-01-31T09:30+24:00', '2026-01-31T09:30+5', ' 2026-01-31', '2026-01-31 05:30', '+02026-01-31T00:00Z'],
    ...['9999-12-31T23:59:59-23:59', '0000-01-01T00:00:00+00:01', '2026-01-31T09:30 05:30'],
  ])('returns undefined for %j', (text) => {
    expect(parseTime(text)).toBeUndefined();
  });
});

describe('restorePlus', () => {
  it.each([
    ['2026-01-31T09:30 05:30', '2026-01-31T09:30+05:30'],
    ['2026-01-31 09:30:00.5 0530', '2026-01-31 09:30:00.5+0530'],
    ['2026-01-31T09:30Z', '2026-01-31T09:30Z'],
    ['2026-01-31 05:30', '2026-01-31 05:30'],
  ])('returns for %j the time %j', (text, restored) => {
    expect(restorePlus(text)).toBe(restored);
  });
});
