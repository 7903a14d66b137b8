import { describe, expect, it } from 'vitest';
import { percentile } from './percentile.ts';

describe('percentile', () => {
  const oneToHundred = Array.from({ length: 100 }, (_, index) => 100 - index);

  it('is the value of the nearest rank, whatever the order of the values', () => {
    expect(percentile(oneToHundred, 50)).toBe(50);
    expect(percentile(oneToHundred, 99)).toBe(99);
    expect(percentile(oneToHundred, 100)).toBe(100);
  });

  it('rounds the rank up where it falls between two values', () => {
    expect(percentile([1, 2, 3], 50)).toBe(2);
    expect(percentile([1, 2, 3], 99)).toBe(3);
  });

  it('sorts by size and not as text', () => {
    expect(percentile([9, 10, 100], 100)).toBe(100);
  });

  it('has no value where there are no values', () => {
    expect(percentile([], 50)).toBeNaN();
  });
});
