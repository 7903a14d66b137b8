import { describe, expect, it } from 'vitest';
import { getStretches } from './filling.ts';

describe('getStretches', () => {
  it.each([1, 3, 4, 2000, 10_000, 1_000_000])('stores each of %i turns once, in order', (count) => {
    const { awaited, filler, queued, rest } = getStretches(count);
    let next = 0;
    for (const stretch of [awaited, filler, queued, rest]) {
      expect(stretch.from).toBe(next);
      next += stretch.count;
    }
    expect(next).toBe(count);
  });

  it('leaves nearly all of a large filling to batches', () => {
    expect(getStretches(1_000_000).rest.count).toBeGreaterThan(970_000);
  });
});
