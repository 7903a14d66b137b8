import { describe, expect, it } from 'vitest';
import { collectCandidates, combineMatches, MAX_SUCCESSORS, type RowRelations } from './candidate-rows.ts';

const NO_ROW = -1;

/** Rows of one session in order. By default, no row supersedes another. */
function createRelations(rows: number, differences: Partial<RowRelations> = {}): RowRelations {
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

const foundRows = (rows: number[]) => combineMatches(rows, [], [], rows.length);

describe('collectCandidates', () => {
  it('follows a chain of successors up to twice MAX_SUCCESSORS', () => {
    const apart = { previous: () => NO_ROW, next: () => NO_ROW };
    const chain = createRelations(0, { ...apart, successor: (row) => row + 1 });
    const { candidateCount, rows } = collectCandidates(chain, foundRows([0]));
    expect(candidateCount).toBe(1 + 2 * MAX_SUCCESSORS);
    expect(rows).toEqual(Array.from({ length: candidateCount }, (_, row) => row));
  });

  it('includes all successors of every found row', () => {
    const apart = { previous: () => NO_ROW, next: () => NO_ROW };
    const each = createRelations(0, { ...apart, successor: (row) => (row % 9 < 8 ? row + 1 : NO_ROW) });
    const found = Array.from({ length: 50 }, (_, i) => i * 9);
    expect(collectCandidates(each, foundRows(found)).candidateCount).toBe(50 * 9);
  });

  it.each([
    [2, [0, 1, 2]],
    [3, [0, 1, 2, 3]],
    [4, [0, 1, 2, 3, 4]],
    [5, [0, 1, 2, 3, 4, 5]],
    [6, [0, 1, 5, 6, 7]],
  ])('includes the rows between two found rows at distance %d if they can form a passage', (apart, expected) => {
    const { rows, getPlaces } = collectCandidates(createRelations(8), foundRows([0, apart]));
    const expectedRows = [...new Set([...expected, apart + 1])].filter((row) => row < 8);
    expect(rows.toSorted((a, b) => a - b)).toEqual(expectedRows);
    expect([...getPlaces([0, apart, 99, NO_ROW])]).toEqual([0, 1, NO_ROW, NO_ROW]);
  });
});
