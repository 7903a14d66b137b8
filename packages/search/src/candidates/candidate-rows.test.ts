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

/** Rows without a session. */
const APART = { previous: () => NO_ROW, next: () => NO_ROW };

describe('combineMatches', () => {
  it('lets the best rows by words and by vectors lift their neighbors, and puts all further rows into the tail', () => {
    expect(combineMatches([1, 2, 3], [2, 9], [8, 7], 2)).toEqual({
      pool: [1, 2, 9],
      lifting: [1, 2],
      tail: [3, 8, 7],
    });
  });
});

describe('collectCandidates', () => {
  it('follows a chain of successors up to twice MAX_SUCCESSORS', () => {
    const chain = createRelations(0, { ...APART, successor: (row) => row + 1 });
    const { candidateCount, rows } = collectCandidates(chain, foundRows([0]));
    expect(candidateCount).toBe(1 + 2 * MAX_SUCCESSORS);
    expect(rows).toEqual(Array.from({ length: candidateCount }, (_, row) => row));
  });

  it('includes all successors of every found row', () => {
    const each = createRelations(0, { ...APART, successor: (row) => (row % 9 < 8 ? row + 1 : NO_ROW) });
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

  it('adds the allowed sources of semantic memories: those of the pool before the tail, those of the tail after it', () => {
    const sourcesByRow = new Map([
      [10, [11, 12]],
      [20, [21, 22]],
    ]);
    const semantic = createRelations(0, {
      ...APART,
      isAllowed: (row) => row % 10 < 2,
      sources: (row) => sourcesByRow.get(row) ?? [],
    });
    const collected = collectCandidates(semantic, { pool: [10], lifting: [], tail: [20, 30] });
    expect(collected).toMatchObject({ rows: [10, 11, 20, 30, 21], found: 1, pool: 1, candidateCount: 5 });
    expect([...collected.distilledInto]).toEqual([NO_ROW, 0, NO_ROW, NO_ROW, 2]);
  });

  it('adds the sources of the first row of the tail if the pool has none', () => {
    const semantic = createRelations(0, { ...APART, sources: (row) => (row === 20 ? [21] : []) });
    expect(collectCandidates(semantic, { pool: [10], lifting: [], tail: [20] }).rows).toEqual([10, 20, 21]);
  });

  it('adds no successor that does not match the filter, and does not link to one that is only a neighbor', () => {
    const filtered = createRelations(3, {
      isAllowed: (row) => row !== 2,
      successor: (row) => (row === 1 ? 2 : NO_ROW),
    });
    const { rows, candidateCount, supersededBy } = collectCandidates(filtered, foundRows([1]));
    expect(rows).toEqual([1, 0, 2]);
    expect([candidateCount, ...supersededBy]).toEqual([1, NO_ROW]);
  });

  it('adds only relevant, allowed neighbors of the best rows to the pool', () => {
    const session = createRelations(100, {
      isAllowed: (row) => row !== 9,
      relevant: (rows) => rows.filter((row) => row !== 1),
    });
    const { rows, found, pool } = collectCandidates(session, foundRows([0, 10, 20, 30, 40]));
    expect(rows.slice(0, pool)).toEqual([0, 10, 20, 30, 40, 11]);
    expect(found).toBe(5);
  });
});
