import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DISTIL_LIMITS } from './bounds.ts';
import {
  type GroupCandidate,
  type Grouping,
  type GroupsBefore,
  getMaxRareWordFrequency,
  groupMemories,
} from './group.ts';

const NONE: GroupsBefore = { semanticBySource: new Map(), groupSizes: new Map(), background: 0 };

/** The similarity of two memories: cosine, and number of shared rare words, 1 by default. */
type Tie = [a: number, b: number, cosine: number, sharedRareWords?: number];

/** Creates candidates from the first memory of each pair, with the second as a neighbor. */
function candidates(ties: readonly Tie[]): GroupCandidate[] {
  return [...new Set(ties.map(([a]) => a))].map((ordinal) => ({
    ordinal,
    neighbors: ties
      .filter(([a]) => a === ordinal)
      .map(([, other, cosine, sharedRareWords = 1]) => ({ ordinal: other, cosine, sharedRareWords })),
  }));
}

/** Creates one semantic memory per list of sources, numbered from 1001. */
function withSources(...groups: number[][]): GroupsBefore {
  return {
    ...NONE,
    semanticBySource: new Map(groups.flatMap((sources, i) => sources.map((source) => [source, 1001 + i] as const))),
    groupSizes: new Map(groups.map((sources, i) => [1001 + i, sources.length])),
  };
}

/** Returns the groups after a grouping has been applied. */
function after({ semanticBySource, groupSizes, background }: GroupsBefore, { made, grown }: Grouping): GroupsBefore {
  const next = { semanticBySource: new Map(semanticBySource), groupSizes: new Map(groupSizes), background };
  const news = made.map((joining, i) => ({ semantic: 2001 + i, joining }));
  for (const { semantic, joining } of [...grown, ...news]) {
    for (const source of joining) next.semanticBySource.set(source, semantic);
    next.groupSizes.set(semantic, (next.groupSizes.get(semantic) ?? 0) + joining.length);
  }
  return next;
}

describe('a new group', () => {
  it('a new group is created from three related memories', () => {
    expect(
      groupMemories(
        candidates([
          [1, 2, 0.8],
          [1, 3, 0.7],
        ]),
        NONE,
      ),
    ).toEqual({ made: [[1, 2, 3]], grown: [] });
  });

  it('a new group is not created from two memories', () => {
    expect(groupMemories(candidates([[1, 2, 0.99]]), NONE)).toEqual({ made: [], grown: [] });
  });

  it.each<[string, Tie]>([
    ['without a shared rare word', [1, 3, 0.9, 0]],
    ['with a shared word but a low cosine', [1, 3, 0.39]],
    ['with an unknown cosine', [1, 3, Number.NaN]],
    ['from a tie of a memory to itself', [1, 1, 1]],
  ])('a new group is not created %s', (_, tie) => {
    expect(groupMemories(candidates([[1, 2, 0.8], tie]), NONE).made).toEqual([]);
  });

  it('requires a higher cosine if all memories are similar to each other', () => {
    const alike = candidates([
      [1, 2, 0.8],
      [1, 3, 0.8],
    ]);
    expect(groupMemories(alike, { ...NONE, background: 0.75 }).made).toEqual([]);
    expect(groupMemories(alike, { ...NONE, background: 0.6 }).made).toEqual([[1, 2, 3]]);
  });

  it('contains at most the twelve nearest memories', () => {
    const ties = Array.from({ length: 20 }, (_, i): Tie => [1, i + 2, 0.5 + i / 100]);
    const { made } = groupMemories(candidates(ties), NONE);
    expect(made).toEqual([[1, ...Array.from({ length: 11 }, (_, i) => i + 11)]]);
  });

  it('contains only memories that are tied to its first memory, not chains of ties', () => {
    const chain = Array.from({ length: 9 }, (_, i): Tie => [i + 1, i + 2, 0.8]);
    for (const group of groupMemories(candidates(chain), NONE).made) expect(group).toHaveLength(3);
  });
});

describe('an existing group', () => {
  it('adds a memory that is tied to two of its sources', () => {
    const { made, grown } = groupMemories(
      candidates([
        [9, 1, 0.8],
        [9, 2, 0.8],
      ]),
      withSources([1, 2, 3]),
    );
    expect([made, grown]).toEqual([[], [{ semantic: 1001, joining: [9] }]]);
  });

  it('an existing group does not add a memory that is tied to only one of several sources', () => {
    expect(groupMemories(candidates([[9, 1, 0.8]]), withSources([1, 2, 3])).grown).toEqual([]);
    expect(groupMemories(candidates([[9, 1, 0.8]]), withSources([1])).grown).toEqual([
      { semantic: 1001, joining: [9] },
    ]);
  });

  it('adds a memory that is nearer to its sources than to the sources of another group', () => {
    const ties: Tie[] = [
      [9, 1, 0.7],
      [9, 2, 0.7],
      [9, 4, 0.8],
      [9, 5, 0.8],
    ];
    expect(groupMemories(candidates(ties), withSources([1, 2, 3], [4, 5, 6])).grown).toEqual([
      { semantic: 1002, joining: [9] },
    ]);
  });

  it('adds the nearest memories up to the maximum size of a group', () => {
    const sources = Array.from({ length: 11 }, (_, i) => i + 1);
    const ties: Tie[] = [
      [21, 1, 0.7],
      [21, 2, 0.7],
      [22, 1, 0.9],
      [22, 2, 0.9],
    ];
    expect(groupMemories(candidates(ties), withSources(sources)).grown).toEqual([{ semantic: 1001, joining: [22] }]);
  });

  it('keeps its sources if they are grouped again', () => {
    const ties: Tie[] = [
      [1, 9, 0.9],
      [1, 8, 0.9],
      [9, 8, 0.9],
    ];
    expect(groupMemories(candidates(ties), withSources([1, 2, 3]))).toEqual({ made: [], grown: [] });
  });
});

describe('groupMemories for any input', () => {
  const tie = fc.tuple(
    fc.integer({ min: 1, max: 40 }),
    fc.integer({ min: 1, max: 40 }),
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.integer({ min: 0, max: 2 }),
  );
  const ties = fc.array(tie, { maxLength: 250 });
  const groups = fc
    .uniqueArray(fc.integer({ min: 1, max: 40 }), { maxLength: 24 })
    .map((sources) => [sources.slice(0, 12), sources.slice(12)].filter(({ length }) => length > 0));

  it('respects the minimum and maximum size, and assigns each memory to at most one group', () => {
    fc.assert(
      fc.property(ties, groups, (some, sources) => {
        const known = withSources(...sources);
        const { made, grown } = groupMemories(candidates(some), known);
        for (const group of made) {
          expect(group.length).toBeGreaterThanOrEqual(DISTIL_LIMITS.minSources);
          expect(group.length).toBeLessThanOrEqual(DISTIL_LIMITS.maxSources);
        }
        for (const { semantic, joining } of grown) {
          const size = joining.length + (known.groupSizes.get(semantic) ?? 0);
          expect(size).toBeLessThanOrEqual(DISTIL_LIMITS.maxSources);
        }
        const placed = [...made.flat(), ...grown.flatMap(({ joining }) => joining), ...known.semanticBySource.keys()];
        expect(new Set(placed).size).toBe(placed.length);
      }),
    );
  });

  it('returns the same groups for any order of the input', () => {
    fc.assert(
      fc.property(ties, groups, fc.infiniteStream(fc.nat()), (some, sources, numbers) => {
        const shuffled = candidates(some).map((candidate) => ({
          ...candidate,
          neighbors: shuffle(candidate.neighbors, numbers),
        }));
        const known = withSources(...sources);
        const reversed = { ...known, semanticBySource: new Map([...known.semanticBySource].reverse()) };
        expect(groupMemories(shuffle(shuffled, numbers), reversed)).toEqual(groupMemories(candidates(some), known));
      }),
    );
  });

  it('returns no changes when it is repeated', () => {
    fc.assert(
      fc.property(ties, groups, (some, sources) => {
        const known = withSources(...sources);
        const once = after(known, groupMemories(candidates(some), known));
        expect(groupMemories(candidates(some), once)).toEqual({ made: [], grown: [] });
      }),
    );
  });
});

function shuffle<T>(items: readonly T[], numbers: Iterator<number>): T[] {
  return items
    .map((item) => ({ item, key: numbers.next().value as number }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

it.each([
  [0, 12],
  [1000, 12],
  [3000, 30],
  [1_000_000, 64],
])('getMaxRareWordFrequency for %i memories is %i', (memories, most) => {
  expect(getMaxRareWordFrequency(memories)).toBe(most);
});
