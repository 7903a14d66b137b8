import { describe, expect, it } from 'vitest';
import { getPercentile } from './percentile.ts';

describe('getPercentile', () => {
  const oneToHundred = Array.from({ length: 100 }, (_, index) => 100 - index);

  it('returns the value at the nearest rank, even if the values are not sorted', () => {
    expect(getPercentile(oneToHundred, 50)).toBe(50);
    expect(getPercentile(oneToHundred, 99)).toBe(99);
    expect(getPercentile(oneToHundred, 100)).toBe(100);
  });

  it('rounds a fractional rank up', () => {
    expect(getPercentile([1, 2, 3], 50)).toBe(2);
    expect(getPercentile([1, 2, 3], 99)).toBe(3);
  });

  it('getPercentile sorts values numerically', () => {
    expect(getPercentile([9, 10, 100], 100)).toBe(100);
  });

  it('returns NaN for an empty list', () => {
    expect(getPercentile([], 50)).toBeNaN();
  });
});
