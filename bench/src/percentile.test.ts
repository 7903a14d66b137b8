import { describe, expect, it } from 'vitest';
import { getPercentile } from './percentile.ts';

describe('getPercentile', () => {
  const oneToHundred = Array.from({ length: 100 }, (_, index) => 100 - index);

  it('returns the value of the nearest rank for values in any order', () => {
    expect(getPercentile(oneToHundred, 50)).toBe(50);
    expect(getPercentile(oneToHundred, 99)).toBe(99);
    expect(getPercentile(oneToHundred, 100)).toBe(100);
  });

  it('rounds a fractional rank up', () => {
    expect(getPercentile([1, 2, 3], 50)).toBe(2);
    expect(getPercentile([1, 2, 3], 99)).toBe(3);
  });

  it('sorts values as numbers', () => {
    expect(getPercentile([9, 10, 100], 100)).toBe(100);
  });

  it('returns NaN without values', () => {
    expect(getPercentile([], 50)).toBeNaN();
  });
});
