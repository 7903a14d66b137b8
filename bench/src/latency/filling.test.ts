import { describe, expect, it } from 'vitest';
import { splitTurns } from './filling.ts';

describe('splitTurns', () => {
  it.each([1, 3, 4, 2000, 10_000, 1_000_000])('assigns each of %i turns to exactly one range, in order', (count) => {
    const { awaited, filler, queued, rest } = splitTurns(count);
    let next = 0;
    for (const range of [awaited, filler, queued, rest]) {
      expect(range.from).toBe(next);
      next += range.count;
    }
    expect(next).toBe(count);
  });

  it('assigns more than 97% of a million turns to batches', () => {
    expect(splitTurns(1_000_000).rest.count).toBeGreaterThan(970_000);
  });
});
