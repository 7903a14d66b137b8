import { describe, expect, it } from 'vitest';
import { toMs, toTimestamp } from './timestamp.ts';

describe('timestamps', () => {
  it.each([
    ['2026-01-31T09:30:00Z', '2026-01-31T09:30:00.000Z'],
    ['2026-01-31t09:30:00.5z', '2026-01-31T09:30:00.500Z'],
    ['2026-01-31T09:30:00.123456Z', '2026-01-31T09:30:00.123Z'],
    ['2026-01-31T09:30:00+05:30', '2026-01-31T04:00:00.000Z'],
    ['2016-12-31T23:59:60Z', '2016-12-31T23:59:59.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
  ])('%s is kept as %s', (given, kept) => {
    expect(toTimestamp(toMs(given, 'created_at'))).toBe(kept);
  });

  it.each(['9999-12-31T23:59:59-23:59', '0000-01-01T00:00:00+00:01'])('%s is out of range', (given) => {
    expect(() => toMs(given, 'created_at')).toThrow('created_at must be in the years 0000 to 9999 in UTC');
  });
});
