import { describe, expect, it } from 'vitest';
import { foundBy, gather, MAX_SUCCESSORS, type Surroundings } from './gather.ts';

const NO_ROW = -1;

/** Rows in one session, in their order, of which none corrects another unless that is said. */
function around(rows: number, differences: Partial<Surroundings> = {}): Surroundings {
  return {
    isAllowed: () => true,
    previous: (row) => row - 1,
    next: (row) => (row + 1 < rows ? row + 1 : NO_ROW),
    successor: () => NO_ROW,
    sources: () => [],
    relevant: () => [],
    ...differences,
  };
}

const foundRows = (rows: number[]) => foundBy(rows, [], [], rows.length);

describe('what is gathered', () => {
  it('has corrections of corrections, twice as many as are added at a time', () => {
    const apart = { previous: () => NO_ROW, next: () => NO_ROW };
    const chain = around(0, { ...apart, successor: (row) => row + 1 });
    const { admitted, rows } = gather(chain, foundRows([0]));
    expect(admitted).toBe(1 + 2 * MAX_SUCCESSORS);
    expect(rows).toEqual(Array.from({ length: admitted }, (_, row) => row));
  });

  it('has the corrections of all that was found, however many each has', () => {
    const apart = { previous: () => NO_ROW, next: () => NO_ROW };
    const each = around(0, { ...apart, successor: (row) => (row % 9 < 8 ? row + 1 : NO_ROW) });
    const found = Array.from({ length: 50 }, (_, i) => i * 9);
    expect(gather(each, foundRows(found)).admitted).toBe(50 * 9);
  });

  it.each([
    [2, [0, 1, 2]],
    [3, [0, 1, 2, 3]],
    [4, [0, 1, 2, 3, 4]],
    [5, [0, 1, 2, 3, 4, 5]],
    [6, [0, 1, 5, 6, 7]],
  ])('has what parts two that were found %d apart, where a passage goes on over it', (apart, expected) => {
    const { rows, getPlaces } = gather(around(8), foundRows([0, apart]));
    const told = [...new Set([...expected, apart + 1])].filter((row) => row < 8);
    expect(rows.toSorted((a, b) => a - b)).toEqual(told);
    expect([...getPlaces([0, apart, 99, NO_ROW])]).toEqual([0, 1, NO_ROW, NO_ROW]);
  });
});
