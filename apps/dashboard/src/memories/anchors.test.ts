import { describe, expect, it } from 'vitest';
import { type CreatedCount, findAnchor, type ReadFrom } from './anchors.ts';

const LIMITS = { maxOffset: 100, maxTimes: 10 };

/** Reads row `index` of a list of creation times as the table does, and returns its creation time. */
function readRow(created: readonly number[], index: number, dir: 'asc' | 'desc') {
  const ascending = created.toSorted((a, b) => a - b);
  const countUpTo = (at: number): CreatedCount => ({ at, count: ascending.filter((one) => one <= at).length });
  let counts = [countUpTo(0), countUpTo(Math.max(...created))];
  for (let round = 0; round < 20; round++) {
    const found = findAnchor({ index, total: created.length, dir, counts, ...LIMITS });
    if ('times' in found) {
      expect(found.times.length).toBeLessThanOrEqual(LIMITS.maxTimes);
      counts = [...counts, ...found.times.map(countUpTo)].sort((a, b) => a.at - b.at);
      continue;
    }
    expect(found.offset).toBeLessThanOrEqual(LIMITS.maxOffset);
    return { value: getRows(ascending, found, dir)[found.offset], rounds: round };
  }
  throw new Error('no anchor after 20 rounds');
}

function getRows(ascending: readonly number[], { since, until }: ReadFrom, dir: 'asc' | 'desc'): number[] {
  const [from, to] = [since ? Date.parse(since) : 0, until ? Date.parse(until) : Number.POSITIVE_INFINITY];
  const rows = ascending.filter((at) => at >= from && at <= to);
  return dir === 'asc' ? rows : rows.reverse();
}

describe('the anchors of a long list', () => {
  const even = Array.from({ length: 2000 }, (_, i) => 1_700_000_000_000 + i * 60_000);
  // Bursts of 90 memories in the same ms, and years without any.
  const uneven = Array.from({ length: 2000 }, (_, i) => 1_500_000_000_000 + Math.floor(i / 90) ** 4 * 1_000_000);

  it.each([
    ['even', even],
    ['uneven', uneven],
  ])('reads a row from a creation time before it: %s times', (_, created) => {
    const ascending = created.toSorted((a, b) => a - b);
    for (const index of [0, 99, 101, 555, 1999]) {
      expect(readRow(created, index, 'asc').value, `ascending ${index}`).toBe(ascending[index]);
      expect(readRow(created, index, 'desc').value, `descending ${index}`).toBe(ascending.at(-1 - index));
    }
  });

  it('reports a row as out of reach if too many memories before it were created in the same ms', () => {
    const burst = Array.from({ length: 500 }, () => 1_700_000_000_000);
    expect(() => readRow(burst, 300, 'desc')).toThrow('at the same time');
  });
});
