import { describe, expect, it } from 'vitest';
import { fuseRanks, sortByScore } from './rank-fusion.ts';

describe('fuseRanks', () => {
  it('ranks ids that are in several rankings first', () => {
    expect(
      fuseRanks([
        [1, 2, 3],
        [4, 2, 5],
      ]),
    ).toEqual([2, 1, 4, 3, 5]);
  });

  it('weights a rank by 1 / (60 + rank)', () => {
    // 1/61 = .016393 for id 1; for id 2, 1/122 + 1/123 = .016327 and 1/121 + 1/122 = .016461.
    const ranking = (place: number, id: number): number[] =>
      Array.from({ length: place }, (_, i) => 100 * place + i).with(-1, id);
    expect(fuseRanks([[1], ranking(62, 2), ranking(63, 2)]).indexOf(2)).toBeGreaterThan(0);
    expect(fuseRanks([[1], ranking(61, 2), ranking(62, 2)]).indexOf(2)).toBe(0);
  });

  it('returns an empty list for empty rankings', () => {
    expect(fuseRanks([[], []])).toEqual([]);
  });
});

describe('sortByScore', () => {
  it('keeps the order of items with equal scores', () => {
    expect(
      sortByScore(
        new Map([
          ['a', 1],
          ['b', 2],
          ['c', 1],
        ]),
      ),
    ).toEqual(['b', 'a', 'c']);
  });
});
