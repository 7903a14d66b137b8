import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { propertyRuns } from '../property-runs.fixture.ts';
import { DAMPING, getWordShares } from '../ranking/bm25.ts';
import { NO_ROW } from '../ranking/signals.ts';
import { type EntryFacts, packEntry, withVectors } from './entry.ts';
import { IndexFullError } from './exchange.ts';
import type { IndexQueryWords, MatchLimits } from './index-query.ts';
import { dotInt8, type Int8Vector, toInt8 } from './int8.ts';
import { MAX_DIMENSIONS, RecallIndex, type Scope } from './recall-index.ts';

const NAMESPACE = 7;
const plain: EntryFacts = {
  ordinal: 1,
  createdAt: 1000,
  namespace: NAMESPACE,
  session: 0,
  revision: 0,
  length: 10,
  frequencies: new Map(),
  labels: [],
  speaker: 0,
  marks: 0,
  storedAt: 2000,
  importance: 0.5,
};
const wholeNamespace: Scope = { namespace: NAMESPACE, now: 0, labels: [], filter: {} };
const held = { beginsAt: null, endsAt: null, replacement: 'none' } as const;
const state = { tier: 'episodic', expiresAt: null, ...held } as const;

/** Returns memories with these differences from `plain` and ordinals 1, 2, … */
function getEntries(...differences: Partial<EntryFacts>[]): EntryFacts[] {
  return differences.map((difference, i) => ({ ...plain, ordinal: i + 1, ...difference }));
}

function buildIndex(entries: readonly EntryFacts[]): RecallIndex {
  const index = new RecallIndex();
  for (const entry of entries) index.putEntry(packEntry(entry));
  return index;
}

/** Returns the ordinals that a query for single terms finds, best first. */
function findOrdinals(
  index: RecallIndex,
  terms: readonly number[],
  scope: Scope = wholeNamespace,
  limits: MatchLimits = { count: 100 },
): number[] {
  const { memoryCount } = index.beginQuery(scope);
  const words = getWords(index, toSingleTermWords(terms), scope);
  const { documentFrequencies } = words;
  const everyday = new Float64Array(documentFrequencies.length);
  const shares = getWordShares({ memoryCount, documentFrequencies, everyday });
  return words.best(shares, limits).map((row) => index.ordinal(row));
}

function getWords(
  index: RecallIndex,
  words: readonly (readonly number[])[],
  scope: Scope = wholeNamespace,
): IndexQueryWords {
  return index.beginQuery(scope).words(words);
}

function toSingleTermWords(terms: readonly number[]): number[][] {
  return terms.map((term) => [term]);
}

function getDocumentFrequencies(index: RecallIndex, words: readonly (readonly number[])[]): number[] {
  return getWords(index, words).documentFrequencies;
}

const TERMS = [11, 12, 13, 14, 2 ** 47];
const anyEntryFields = {
  length: fc.integer({ min: 1, max: 1200 }),
  frequencies: fc
    .uniqueArray(fc.tuple(fc.constantFrom(...TERMS), fc.integer({ min: 1, max: 300 })), { selector: ([term]) => term })
    .map((pairs) => new Map(pairs)),
  session: fc.nat({ max: 2 }),
  createdAt: fc.nat({ max: 50 }),
  storedAt: fc.nat({ max: 50 }),
  importance: fc.double({ min: 0, max: 1, noNaN: true }),
};
const anyEntry = fc.record(anyEntryFields);
const anyEntries = fc.array(anyEntry, { maxLength: 40 }).map((drawn) => getEntries(...drawn));
/** Texts with the same terms in another order are different texts. */
const COLLIDING_TEXTS = [[11], [11, 12], [12, 11], [2 ** 47]].map((terms) => new Map(terms.map((term) => [term, 2])));

/** Returns ranked ordinals with at most `maxOfText` of each text first and all others after them. */
function limitPerText(ranked: readonly EntryFacts[], maxOfText: number): number[] {
  const counts = new Map<string, number>();
  const isWithinLimit = ranked.map(({ frequencies, length }) => {
    const text = JSON.stringify([length, ...frequencies]);
    counts.set(text, (counts.get(text) ?? 0) + 1);
    return (counts.get(text) as number) <= maxOfText;
  });
  const among = ranked.filter((_, place) => isWithinLimit[place]);
  return [...among, ...ranked.filter((_, place) => !isWithinLimit[place])].map(({ ordinal }) => ordinal);
}

/** The kernel's frequencies saturate at 255, and it adds 32-bit floats. */
const counted = (frequency: number) => Math.min(frequency, 255);

describe('recall index word search', () => {
  it('returns the same best matches as a scan of every memory', () => {
    fc.assert(
      fc.property(anyEntries, fc.integer({ min: 1, max: 50 }), (entries, count) => {
        const index = buildIndex(entries);
        const found = findOrdinals(index, TERMS, wholeNamespace, { count });
        const matches = getMatches(entries);
        const expected = entries
          .map(({ ordinal }) => ({ ordinal, match: matches.get(ordinal) as number }))
          .filter(({ match }) => match > 0)
          .sort((a, b) => b.match - a.match || b.ordinal - a.ordinal)
          .slice(0, count);
        expect(found).toHaveLength(expected.length);
        found.forEach((ordinal, place) => {
          expect(matches.get(ordinal)).toBeCloseTo(expected[place]?.match as number, 5);
        });
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  it('returns at most maxOfText rows per text if other rows match', () => {
    const anyText = fc.record({ length: fc.constantFrom(4, 9), frequencies: fc.constantFrom(...COLLIDING_TEXTS) });
    const anyTexts = fc.array(anyText, { maxLength: 60 }).map((drawn) => getEntries(...drawn));
    const maxPerText = fc.integer({ min: 1, max: 5 });
    fc.assert(
      fc.property(anyTexts, fc.integer({ min: 1, max: 50 }), maxPerText, (entries, count, maxOfText) => {
        const matches = getMatches(entries);
        const ranked = entries.toSorted(
          (a, b) => (matches.get(b.ordinal) as number) - (matches.get(a.ordinal) as number) || b.ordinal - a.ordinal,
        );
        const found = findOrdinals(buildIndex(entries), TERMS, wholeNamespace, { count, maxOfText });
        expect(found).toEqual(limitPerText(ranked, maxOfText).slice(0, count));
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  it('returns the rows of the scope that were created in a time range', () => {
    fc.assert(
      fc.property(anyEntries, fc.nat({ max: 50 }), fc.nat({ max: 50 }), (entries, from, until) => {
        const index = buildIndex(entries);
        const noWords = getWords(index, [], { ...wholeNamespace, filter: { until: 40 } });
        const found = noWords
          .best([], { count: 100, dated: [{ from, until, match: 0.5 }] })
          .map((row) => index.ordinal(row));
        const created = entries.filter(({ createdAt: at }) => at >= from && at < until && at <= 40);
        expect(found).toEqual(created.map(({ ordinal }) => ordinal).reverse());
        expect(noWords.best([], { count: 100 })).toEqual([]);
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  it('ranks rows that match both a word and a creation time first', () => {
    const frequencies = new Map([[11, 1]]);
    const index = buildIndex(
      getEntries({ frequencies, createdAt: 5 }, { frequencies }, { createdAt: 5 }, { createdAt: 6 }),
    );
    const found = getWords(index, [[11]])
      .best([0.8], { count: 100, dated: [{ from: 5, until: 6, match: 0.1 }] })
      .map((row) => index.ordinal(row));
    expect(found).toEqual([1, 2, 3]);
  });

  it('excludes semantic memories from the document frequencies', () => {
    const index = new RecallIndex();
    for (const ordinal of [1, 2, 3]) index.putEntry(packEntry({ ...plain, ordinal, frequencies: new Map([[7, 1]]) }));
    const state = { expiresAt: null, ...held };
    const counted = () => {
      const question = index.beginQuery(wholeNamespace);
      const words = question.words([[7]]);
      return [question.memoryCount, ...words.documentFrequencies, words.best([1], { count: 10 }).length];
    };
    expect(counted()).toEqual([3, 3, 3]);
    index.setState(2, { ...state, tier: 'semantic' });
    expect(counted()).toEqual([2, 2, 3]);
    index.setState(2, { ...state, tier: 'episodic' });
    expect(counted()).toEqual([3, 3, 3]);
    index.setState(2, { ...state, tier: 'semantic' });
    index.removeMemory(2);
    index.removeMemory(1);
    expect(counted()).toEqual([1, 1, 1]);
  });

  it('returns the same document frequencies from a changed index as from a rebuilt index', () => {
    type Change = Pick<EntryFacts, 'ordinal' | 'frequencies'> & { tier: 'episodic' | 'semantic' | 'gone' };
    const anyTerms = fc.subarray(TERMS).map((terms) => new Map(terms.map((term) => [term, 1])));
    const anyTier = fc.constantFrom<Change['tier']>('episodic', 'semantic', 'gone');
    const anyChange = fc.record({ ordinal: fc.integer({ min: 1, max: 8 }), frequencies: anyTerms, tier: anyTier });
    fc.assert(
      fc.property(fc.array(anyChange, { maxLength: 60 }), (changes) => {
        const index = new RecallIndex();
        const current = new Map<number, Change>();
        for (const [revision, change] of changes.entries()) {
          current.set(change.ordinal, change);
          put(index, change, revision);
          const rebuilt = new RecallIndex();
          for (const memory of current.values()) put(rebuilt, memory, 0);
          expect(counts(index)).toEqual(counts(rebuilt));
        }
      }),
      { numRuns: propertyRuns(100) },
    );

    function put(index: RecallIndex, { tier, ...facts }: Change, revision: number): void {
      index.putEntry(packEntry({ ...plain, ...facts, revision }));
      if (tier === 'gone') index.removeMemory(facts.ordinal);
      else index.setState(facts.ordinal, { ...state, tier });
    }

    function counts(index: RecallIndex): number[] {
      return [index.beginQuery(wholeNamespace).memoryCount, ...getDocumentFrequencies(index, toSingleTermWords(TERMS))];
    }
  });

  it('returns term frequencies and document frequencies', () => {
    fc.assert(
      fc.property(anyEntries, (entries) => {
        const index = buildIndex(entries);
        const words = getWords(index, toSingleTermWords(TERMS));
        expect(words.documentFrequencies).toEqual(
          TERMS.map((term) => entries.filter(({ frequencies }) => frequencies.has(term)).length),
        );
        const rows = entries.map(({ ordinal }) => index.getRow(ordinal)).reverse();
        const expected = entries
          .toReversed()
          .flatMap(({ frequencies }) => TERMS.map((term) => counted(frequencies.get(term) ?? 0)));
        expect([...words.frequencies(rows)]).toEqual(expected);
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  it('treats alternative terms as one word', () => {
    const index = buildIndex(
      getEntries(
        { frequencies: new Map([[11, 2]]) },
        {
          frequencies: new Map([
            [11, 1],
            [12, 3],
            [13, 9],
          ]),
        },
        { frequencies: new Map([[13, 1]]) },
        { frequencies: new Map([[12, 254]]) },
      ),
    );
    const words = getWords(index, [[11, 12, 99], [98, 99], [13]]);
    expect(words.documentFrequencies).toEqual([3, 0, 2]);
    expect([...words.frequencies([0, 1, 2, 3])]).toEqual([2, 0, 0, 3, 0, 9, 0, 0, 1, 254, 0, 0]);
  });

  it('returns document frequency 0 for a word whose alternative terms have no rows left', () => {
    const count = 3000;
    const gone = new Map([
      [11, 1],
      [12, 1],
    ]);
    const index = buildIndex(getEntries(...Array.from({ length: count }, () => ({ frequencies: gone }))));
    for (let ordinal = 1; ordinal <= count; ordinal++) index.removeMemory(ordinal);
    index.sweepTerms();
    expect(getDocumentFrequencies(index, [[11, 12]])).toEqual([0]);
    index.putEntry(packEntry({ ...plain, ordinal: count + 1, frequencies: gone }));
    expect(
      getDocumentFrequencies(index, [
        [11, 12],
        [12, 11],
      ]),
    ).toEqual([1, 1]);
  });

  it('returns all rows of a long postings list', () => {
    const index = buildIndex(
      getEntries(...Array.from({ length: 20_000 }, () => ({ frequencies: new Map([[11, 1]]) }))),
    );
    const words = getWords(index, [[11]]);
    expect(words.documentFrequencies).toEqual([20_000]);
    const rows = [0, 1, 5, 6, 13, 14, 1021, 9999, 19_999];
    expect([...words.frequencies(rows)]).toEqual(rows.map(() => 1));
    expect(findOrdinals(index, [11], wholeNamespace, { count: 3 })).toEqual([20_000, 19_999, 19_998]);
  });

  it('throws IndexFullError if the result does not fit in memory, and leaves the index usable', () => {
    const index = new RecallIndex(undefined, 2 ** 24);
    const entries = Array.from({ length: 1000 }, (_, i) =>
      packEntry({ ...plain, ordinal: i + 1, frequencies: new Map([[11, 1]]) }),
    );
    for (const entry of entries) index.putEntry(entry);
    const found = findOrdinals(index, [11]);
    expect(() => findOrdinals(index, [11], wholeNamespace, { count: 10_000_000 })).toThrow(IndexFullError);
    expect(index.describe([0, 1]).ordinals).toEqual(Float64Array.of(1, 2));
    expect(findOrdinals(index, [11])).toEqual(found);
    expect(index.holds(entries)).toBe(true);
  });
});

function getMatches(entries: readonly EntryFacts[]): Map<number, number> {
  const documentFrequencies = TERMS.map((term) => entries.filter(({ frequencies }) => frequencies.has(term)).length);
  const everyday = new Float64Array(TERMS.length);
  const shares = getWordShares({ memoryCount: entries.length, documentFrequencies, everyday });
  const match = ({ length, frequencies }: EntryFacts) => {
    const damping = Math.min(DAMPING.max, DAMPING.min + DAMPING.perWord * length);
    return TERMS.reduce((sum, term, word) => {
      const frequency = counted(frequencies.get(term) ?? 0);
      return sum + ((shares[word] as number) * frequency) / (frequency + damping);
    }, 0);
  };
  return new Map(entries.map((entry) => [entry.ordinal, match(entry)]));
}

describe('recall index scope', () => {
  const term = new Map([[11, 1]]);

  it('limits a search to one namespace', () => {
    const index = buildIndex(getEntries({ frequencies: term }, { frequencies: term, namespace: 8 }));
    expect(findOrdinals(index, [11])).toEqual([1]);
    expect(index.beginQuery({ ...wholeNamespace, namespace: 8 }).memoryCount).toBe(1);
    expect(index.beginQuery({ ...wholeNamespace, namespace: 9 }).memoryCount).toBe(0);
    expect(findOrdinals(index, [11], { ...wholeNamespace, namespace: 9 })).toEqual([]);
  });

  it('excludes expired memories, and includes them again if the clock is set back', () => {
    const index = buildIndex(getEntries({ frequencies: term }, { frequencies: term }));
    index.setState(2, { ...state, expiresAt: 50 });
    expect(findOrdinals(index, [11], { ...wholeNamespace, now: 50 })).toEqual([1]);
    expect(findOrdinals(index, [11], { ...wholeNamespace, now: 49 })).toEqual([2, 1]);
    index.setState(2, state);
    expect(findOrdinals(index, [11], { ...wholeNamespace, now: 50 })).toEqual([2, 1]);
  });

  it('combines filters by labels, creation time and tier', () => {
    const entries = getEntries(
      { frequencies: term, labels: [21, 22], createdAt: 5 },
      { frequencies: term, labels: [21], createdAt: 6 },
      { frequencies: term, labels: [21, 22], createdAt: 7 },
      { frequencies: term, labels: [22, 21], createdAt: 8 },
    );
    const index = buildIndex(entries);
    for (const { ordinal } of entries)
      index.setState(ordinal, { ...state, tier: ordinal === 4 ? 'working' : 'semantic' });
    const scoped = (scope: Partial<Scope>) => findOrdinals(index, [11], { ...wholeNamespace, ...scope });
    expect(scoped({ labels: [[22]] })).toEqual([4, 3, 1]);
    expect(scoped({ labels: [[22], [21]] })).toEqual([4, 3, 1]);
    expect(scoped({ labels: [[22], [23]] })).toEqual([]);
    expect(scoped({ filter: { since: 6, until: 7 } })).toEqual([3, 2]);
    expect(scoped({ filter: { tier: 'semantic' } })).toEqual([3, 2, 1]);
    expect(scoped({ labels: [[22]], filter: { tier: 'semantic', since: 6 } })).toEqual([3]);
    expect(scoped({ filter: { tier: 'episodic' } })).toEqual([]);
    expect(scoped({})).toEqual([4, 3, 2, 1]);
  });
});

describe('recall index for one user among many', () => {
  const model = { number: 1, modelId: 'm', dimensions: 8 };
  const [USER, SHARED, OTHER, AGENT, TAG] = [101, 102, 103, 104, 105];
  const anyOwned = fc.record({
    ...anyEntryFields,
    labels: fc.tuple(fc.constantFrom(USER, SHARED), fc.subarray([AGENT, TAG])).map(([user, more]) => [user, ...more]),
    vectors: fc.array(fc.array(fc.integer({ min: -9, max: 9 }), { minLength: 8, maxLength: 8 }), { maxLength: 2 }),
    state: fc.record({
      tier: fc.constantFrom('episodic' as const, 'semantic' as const),
      expiresAt: fc.constantFrom(null, 10, 30),
      beginsAt: fc.constantFrom(null, 5, 25),
      endsAt: fc.constantFrom(null, 15, 35),
      replacement: fc.constantFrom('none', 'lasting'),
    }),
  });
  const anyScope = fc.record({
    namespace: fc.constant(NAMESPACE),
    now: fc.constantFrom(0, 20),
    users: fc.constantFrom([USER], [USER, SHARED], [SHARED, USER], [SHARED], [999]),
    agents: fc.constantFrom(undefined, [AGENT], [AGENT, 998]),
    labels: fc.constantFrom([], [[TAG]]),
    filter: fc.constantFrom(
      {},
      { since: 10, until: 40 },
      { tier: 'episodic' as const },
      { superseded: false as const },
      { superseded: false as const, at: 20 },
      { holding: true as const },
      { holding: true as const, at: 20 },
    ),
  });

  type Owned = EntryFacts & (typeof anyOwned extends fc.Arbitrary<infer Drawn> ? Drawn : never);

  /** Returns an index of these memories with `others` memories of another user before each. */
  function indexAmong(owned: readonly Owned[], others: number): RecallIndex {
    const index = new RecallIndex(model);
    for (const [place, { vectors, state: own, ...facts }] of owned.entries()) {
      for (let other = 0; other < others; other++) {
        index.putEntry(packEntry({ ...facts, ordinal: 1000 * (place + 1) + other + 1, labels: [OTHER, AGENT, TAG] }));
      }
      const entry = packEntry({ ...facts, ordinal: 1000 * (place + 1) });
      const made = vectors.map((components) => toInt8(Float32Array.from(toUnit([...components.slice(0, 7), 10]))));
      index.putEntry(withVectors(entry, model.number, made));
      index.setState(1000 * (place + 1), own);
    }
    return index;
  }

  it('returns the same results as an index without the other users', () => {
    fc.assert(
      fc.property(
        fc.array(anyOwned, { maxLength: 30 }),
        anyScope,
        fc.integer({ min: 1, max: 40 }),
        (drawn, scope, count) => {
          const owned = getEntries(...drawn) as Owned[];
          const [alone, among] = [indexAmong(owned, 0), indexAmong(owned, 9)];
          const getAnswers = (index: RecallIndex) => {
            const question = index.beginQuery(scope);
            const words = question.words([[11], [12, 13], [14, 2 ** 47, 77]]);
            const best = words.best([1, 2, 3], { count, maxOfText: 3, dated: [{ from: 5, until: 25, match: 0.7 }] });
            const rows = owned.map((_, place) => index.getRow(1000 * (place + 1)));
            const near = question.nearest(toInt8(Float32Array.from(toUnit([1, 2, 3, 4, 5, 6, 7, 8]))), {
              count,
              maxOfText: 3,
            });
            return {
              best: best.map((row) => index.ordinal(row)),
              allowed: rows.map((row) => question.isAllowed(row)),
              frequencies: [
                ...words.frequencies(
                  rows.filter((_, place) => scope.users.includes(owned[place]?.labels[0] as number)),
                ),
              ],
              near: near.map(({ row, cosine }) => [index.ordinal(row), cosine]),
            };
          };
          expect(getAnswers(among)).toEqual(getAnswers(alone));
        },
      ),
      { numRuns: propertyRuns(200) },
    );
  });

  it('returns memory count and document frequencies of the whole namespace', () => {
    const owned = getEntries({ labels: [USER], frequencies: new Map([[11, 1]]) });
    const others = Array.from({ length: 20 }, (_, i) => ({
      labels: [OTHER],
      frequencies: new Map(i < 5 ? [[11, 1]] : i < 8 ? [[12, 1]] : [[13, 1]]),
    }));
    const index = buildIndex(getEntries(...owned, ...others));
    index.removeMemory(21);
    index.setState(20, { ...state, tier: 'semantic' });
    const question = index.beginQuery({ ...wholeNamespace, users: [USER] });
    expect(question.memoryCount).toBe(19);
    expect(question.countDocuments([[11], [11, 12], [13], [999]])).toEqual([6, 9, 10, 0]);
  });

  it.each([
    ['few', 40],
    ['many', 4],
  ])('counts the memories and words of a user with %s of the rows, and samples each text once', (_, otherCount) => {
    const vectors = [toInt8(Float32Array.of(1, 0))];
    const index = new RecallIndex({ number: 1, modelId: 'test', dimensions: 2 });
    const put = (ordinal: number, label: number, terms: number[]) => {
      const entry = packEntry({
        ...plain,
        ordinal,
        labels: [label],
        frequencies: new Map(terms.map((term) => [term, 1])),
      });
      index.putEntry(withVectors(entry, 1, ordinal === 4 ? [] : vectors));
    };
    for (const [i, terms] of [[11], [11], [11, 12], [13], [14]].entries()) put(i + 1, USER, terms);
    for (let i = 0; i < otherCount; i++) put(i + 6, OTHER, [11, 12, 13]);
    index.setState(5, { ...state, tier: 'semantic' });
    const question = index.beginQuery({ ...wholeNamespace, users: [USER] });
    expect(question.countMemories()).toBe(4);
    const words = [[11], [11, 12], [13], [999]];
    expect(question.countInScope(words, 99)).toEqual([3, 3, 1, 0]);
    expect(question.countInScope(words, 2)).toEqual([2, 2, 1, 0]);
    const sample = question.sampleTexts(10).map((row) => index.ordinal(row));
    expect(sample.sort()).toEqual([1, 3]);
    expect(question.sampleTexts(1)).toHaveLength(1);
  });
});

describe('recall index updates', () => {
  it('result in the same index as one that never contained the removed memories', () => {
    fc.assert(
      fc.property(anyEntries, fc.array(fc.integer({ min: 1, max: 45 })), (entries, gone) => {
        const index = buildIndex(entries);
        for (const ordinal of gone) index.removeMemory(ordinal);
        index.sweepTerms();
        const left = entries.filter(({ ordinal }) => !gone.includes(ordinal));
        expectEqualIndexes(index, buildIndex(left), left);
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  it('recall index updates make changed memories searchable by their current texts', () => {
    fc.assert(
      fc.property(anyEntries, fc.array(fc.tuple(fc.integer({ min: 1, max: 40 }), anyEntry)), (entries, changes) => {
        const index = buildIndex(entries);
        const current = new Map(entries.map((entry) => [entry.ordinal, entry]));
        changes.forEach(([ordinal, change], revision) => {
          const before = current.get(ordinal);
          if (!before) return;
          const after = { ...before, ...change, revision: revision + 1 };
          current.set(ordinal, after);
          index.putEntry(packEntry(after));
        });
        const now = [...current.values()];
        expectEqualIndexes(index, buildIndex(now), now);
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  it('free the rows of thousands of removed memories, and the remaining memories can still be found', () => {
    const count = 6000;
    const entries = getEntries(
      ...Array.from({ length: count }, (_, i) => ({
        frequencies: new Map([
          [11, 1 + (i % 7)],
          [1000 + (i % 3000), 1],
        ]),
      })),
    );
    const index = buildIndex(entries);
    const left = entries.filter(({ ordinal }) => ordinal % 3 === 0);
    for (const { ordinal } of entries) if (ordinal % 3 !== 0) index.removeMemory(ordinal);
    for (let step = 0; step < 5; step++) {
      expect(getDocumentFrequencies(index, [[11], [1002], [1000]])).toEqual([left.length, 2, 0]);
      index.sweepTerms();
    }
    expect(getDocumentFrequencies(index, [[11], [1002], [1000]])).toEqual([left.length, 2, 0]);
    expectEqualIndexes(index, buildIndex(left), left);
  });

  it('recall index updates require a rebuild after a million changes', () => {
    const index = new RecallIndex();
    const change = packEntry(plain);
    const putEntry = (revision: number) => {
      change.writeUInt32LE(revision, 32);
      index.putEntry(change);
    };
    for (let revision = 0; revision <= 2 ** 20; revision++) putEntry(revision);
    expect(index.needsRebuild).toBe(false);
    putEntry(2 ** 20 + 1);
    expect(index.needsRebuild).toBe(true);
  });

  it('recall index updates require a rebuild if there are more removed terms than live terms', () => {
    const termsEach = 2 ** 14;
    const frequencies = new Map(Array.from({ length: termsEach }, (_, i) => [i + 1, 1]));
    const change = packEntry({ ...plain, frequencies });
    let next = 1;
    const putEntry = (index: RecallIndex, ordinal: number) => {
      for (let place = 0; place < termsEach; place++) change.writeUInt32LE(next++, 82 + 8 * place);
      change.writeDoubleLE(ordinal, 0);
      change.writeUInt32LE(next, 32);
      index.putEntry(change);
    };
    const index = new RecallIndex();
    for (let change = 0; change <= 64; change++) putEntry(index, 1);
    expect(index.needsRebuild).toBe(false);
    putEntry(index, 1);
    expect(index.needsRebuild).toBe(true);
    for (let ordinal = 2; ordinal <= 65; ordinal++) putEntry(index, ordinal);
    expect(index.needsRebuild).toBe(false);
  });

  it('recall index updates set removedShare to the share of removed rows or of removed terms, whichever is larger', () => {
    fc.assert(
      fc.property(anyEntries, fc.uniqueArray(fc.integer({ min: 1, max: 40 })), (entries, gone) => {
        const index = buildIndex(entries);
        for (const ordinal of gone) index.removeMemory(ordinal);
        index.sweepTerms();
        const isOut = ({ ordinal }: EntryFacts) => gone.includes(ordinal);
        const getShare = (count: (some: EntryFacts[]) => number) =>
          count(entries.filter(isOut)) / (count(entries) || 1);
        expect(index.size).toBe(entries.length - getRows(entries.filter(isOut)));
        expect(index.removedShare).toBeCloseTo(Math.max(getShare(getRows), getShare(getTerms)), 10);
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  it('recall index updates throw IndexFullError if an index entry does not fit in memory', () => {
    const index = new RecallIndex(undefined, 2 ** 24);
    const putEntry = (ordinal: number) => {
      const frequencies = new Map(Array.from({ length: 1000 }, (_, i) => [1000 * ordinal + i, 1]));
      index.putEntry(packEntry({ ...plain, ordinal, frequencies }));
    };
    for (let ordinal = 1; ordinal <= 50; ordinal++) putEntry(ordinal);
    expect(() => {
      for (let ordinal = 51; ordinal <= 500; ordinal++) putEntry(ordinal);
    }).toThrow(IndexFullError);
  });

  it('recall index updates throw an error other than IndexFullError for a malformed index entry', () => {
    const index = new RecallIndex();
    const entry = packEntry({ ...plain, ordinal: 1 });
    index.putEntry(entry);
    const [labels, vectors] = [52, 56];
    entry.writeUInt32LE(2 ** 28, labels);
    entry.writeUInt32LE(1, vectors);
    expect(() => index.putEntry(entry)).toThrow('out of bounds');
  });

  const getRows = (entries: EntryFacts[]) => entries.length;
  const getTerms = (entries: EntryFacts[]) => entries.reduce((sum, { frequencies }) => sum + frequencies.size, 0);

  function expectEqualIndexes(one: RecallIndex, other: RecallIndex, entries: readonly EntryFacts[]): void {
    const [asked, ...rest] = [one, other].map((index) => ({
      count: index.beginQuery(wholeNamespace).memoryCount,
      documents: getDocumentFrequencies(index, toSingleTermWords(TERMS)),
      found: findOrdinals(index, TERMS),
      places: entries.map(({ ordinal }) => {
        const row = index.getRow(ordinal);
        const beside = [index.previous(row), index.next(row)];
        return beside.map((neighbor) => (neighbor === NO_ROW ? 0 : index.ordinal(neighbor)));
      }),
    }));
    expect(asked).toEqual(rest[0]);
  }
});

describe('recall index row description', () => {
  it('returns columns in the requested row order', () => {
    const facts = getEntries(
      { length: 5, session: 9, speaker: 4_000_000_000, marks: 1 },
      { length: 7, session: 9 },
      { length: 0, session: 8, marks: 65_535, storedAt: 3000, importance: 1 },
    );
    const index = buildIndex(facts);
    expect(Object.entries(index.describe([2, 0, 1])).map(([name, column]) => [name, ...column])).toEqual([
      ['ordinals', 3, 1, 2],
      ['createdAts', 1000, 1000, 1000],
      ['storedAts', 3000, 2000, 2000],
      ['begins', 1000, 1000, 1000],
      ['ends', Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
      ['sessions', 2, 1, 1],
      ['speakers', 0, 4_000_000_000, 0],
      ['lengths', 0, 5, 7],
      ['previous', NO_ROW, NO_ROW, 0],
      ['next', NO_ROW, 1, NO_ROW],
      ['texts', 0, 0, 0],
      ['importances', 1, 0.5, 0.5],
      ['marks', 65_535, 1, 0],
    ]);
  });

  it('a recall index row description has the same text number for texts with the same terms in the same order', () => {
    const facts = getEntries(...[...COLLIDING_TEXTS, ...COLLIDING_TEXTS].map((frequencies) => ({ frequencies })));
    const numbers = [...buildIndex(facts).describe([...facts.keys()]).texts];
    expect(numbers.slice(COLLIDING_TEXTS.length)).toEqual(numbers.slice(0, COLLIDING_TEXTS.length));
    expect(new Set(numbers).size).toBe(COLLIDING_TEXTS.length);
  });
});

describe('recall index neighbors in a session', () => {
  it('recall index neighbors in a session are ordered by creation time and then by ordinal, in whatever order the memories arrive', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ session: fc.nat({ max: 2 }), createdAt: fc.nat({ max: 300 }) }), { maxLength: 200 }),
        fc.array(fc.integer({ min: 1, max: 250 }), { maxLength: 30 }),
        (drawn, gone) => {
          const entries = getEntries(...drawn);
          const index = buildIndex(entries.slice(0, 150));
          for (const ordinal of gone) index.removeMemory(ordinal);
          index.beginQuery(wholeNamespace);
          for (const entry of entries.slice(150)) index.putEntry(packEntry(entry));
          index.beginQuery(wholeNamespace);
          const left = entries.filter(({ ordinal }) => ordinal > 150 || !gone.includes(ordinal));
          for (const session of [1, 2]) {
            const expected = left
              .filter((entry) => entry.session === session)
              .sort((a, b) => a.createdAt - b.createdAt || a.ordinal - b.ordinal)
              .map(({ ordinal }) => ordinal);
            expect(walk(index, expected[0], 'next')).toEqual(expected);
            expect(walk(index, expected.at(-1), 'previous')).toEqual(expected.toReversed());
          }
        },
      ),
    );
  });

  it('recall index neighbors in a session keep their order if histories are imported between two queries', () => {
    const anyHistory = fc.record({
      session: fc.constantFrom(1, 2),
      from: fc.nat({ max: 900 }),
      turns: fc.integer({ min: 1, max: 5 }),
      // The next insertion starts from the last inserted row, which is also removed sometimes.
      goes: fc.constantFrom(null, 0, 1, 250),
    });
    fc.assert(
      fc.property(fc.array(anyHistory, { maxLength: 40 }), (histories) => {
        const plainOnes = Array.from({ length: 300 }, (_, i) => ({ session: 1 + (i % 2), createdAt: 3 * i }));
        const entries = getEntries(...plainOnes);
        const index = buildIndex(entries);
        const gone = new Set<number>();
        for (const { session, from, turns, goes } of histories) {
          for (let turn = 0; turn < turns; turn++) {
            const entry = { ...plain, ordinal: entries.length + 1, session, createdAt: from + turn };
            entries.push(entry);
            index.putEntry(packEntry(entry));
          }
          index.beginQuery(wholeNamespace);
          if (goes !== null) {
            const ordinal = Math.max(1, entries.length - goes);
            gone.add(ordinal);
            index.removeMemory(ordinal);
          }
        }
        index.beginQuery(wholeNamespace);
        for (const session of [1, 2]) {
          const expected = entries
            .filter((entry) => entry.session === session && !gone.has(entry.ordinal))
            .sort((a, b) => a.createdAt - b.createdAt || a.ordinal - b.ordinal)
            .map(({ ordinal }) => ordinal);
          expect(walk(index, expected[0], 'next')).toEqual(expected);
          expect(walk(index, expected.at(-1), 'previous')).toEqual(expected.toReversed());
        }
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  it('recall index neighbors in a session are absent for a memory without a session', () => {
    const index = buildIndex(getEntries({}, {}));
    index.beginQuery(wholeNamespace);
    expect([index.previous(1), index.next(0)]).toEqual([NO_ROW, NO_ROW]);
    expect([...index.describe([0, 1]).sessions]).toEqual([0, 0]);
  });

  function walk(index: RecallIndex, from: number | undefined, step: 'next' | 'previous'): number[] {
    const walked: number[] = [];
    for (let row = from === undefined ? NO_ROW : index.getRow(from); row !== NO_ROW; row = index[step](row)) {
      walked.push(index.ordinal(row));
    }
    return walked;
  }
});

describe('recall index vector search', () => {
  const model = { number: 3, modelId: 'three', dimensions: 384 };
  const random = createRandom(1);
  const directions = Array.from({ length: 64 }, () => toUnit(Array.from({ length: model.dimensions }, () => random())));

  it('returns at least 99 % of the ten nearest vectors of an exact scan', () => {
    const vectors = Array.from({ length: 20_000 }, randomEmbedding);
    const quantized = vectors.map(toInt8);
    const index = new RecallIndex(model);
    quantized.forEach((vector, i) => {
      index.putEntry(withVectors(packEntry({ ...plain, ordinal: i + 1 }), model.number, [vector]));
    });
    const queries = Array.from({ length: 50 }, randomEmbedding);
    let matched = 0;
    for (const query of queries) {
      const question = index.beginQuery(wholeNamespace);
      const near = question
        .nearest(toInt8(query), { count: 50 })
        .slice(0, 32)
        .map(({ row }) => row);
      const exact = getTopTen(near, (row) => dotInt8(query, quantized[row] as Uint8Array));
      const all = getTopTen([...vectors.keys()], (row) => dot(query, vectors[row] as Float32Array));
      matched += all.filter((row) => exact.includes(row)).length;
    }
    expect(matched / (queries.length * 10)).toBeGreaterThanOrEqual(0.99);
  });

  it('computes four-bit cosines with a mean error below 0.01', () => {
    const index = new RecallIndex(model);
    const vectors = Array.from({ length: 200 }, randomEmbedding);
    vectors.forEach((vector, i) => {
      index.putEntry(withVectors(packEntry({ ...plain, ordinal: i + 1 }), model.number, [toInt8(vector)]));
    });
    const query = randomEmbedding();
    const cosines = index.cosines(toInt8(query), [...vectors.keys()]);
    const errors = vectors.map((vector, row) => Math.abs((cosines[row] as number) - dot(query, vector)));
    expect(Math.max(...errors)).toBeLessThan(0.025);
    expect(errors.reduce((sum, error) => sum + error) / errors.length).toBeLessThan(0.01);
  });

  it.each([1, 100, 384, 385, 768, 1536, MAX_DIMENSIONS])('finds vectors of %d dimensions', (dimensions) => {
    const index = new RecallIndex({ number: 1, modelId: 'one', dimensions });
    const vectors = Array.from({ length: 30 }, () =>
      Float32Array.from(toUnit(Array.from({ length: dimensions }, random))),
    );
    vectors.forEach((vector, i) => {
      index.putEntry(withVectors(packEntry({ ...plain, ordinal: i + 1 }), 1, [toInt8(vector)]));
    });
    const question = index.beginQuery(wholeNamespace);
    vectors.forEach((vector, row) => {
      const [nearest] = question.nearest(toInt8(vector), { count: 1 });
      expect(nearest?.cosine).toBeCloseTo(1, 1);
      if (dimensions > 1) expect(nearest?.row).toBe(row);
    });
  });

  it('rejects a model with too many dimensions', () => {
    const model = { number: 1, modelId: 'one', dimensions: MAX_DIMENSIONS + 1 };
    expect(() => new RecallIndex(model)).toThrow('at most 3840 dimensions');
  });

  it('scores a memory with several vectors by its nearest vector', () => {
    const [one, other, query] = [randomEmbedding(), randomEmbedding(), randomEmbedding()];
    const index = new RecallIndex(model);
    index.putEntry(withVectors(packEntry(plain), model.number, [toInt8(one), toInt8(query), toInt8(other)]));
    index.putEntry(withVectors(packEntry({ ...plain, ordinal: 2 }), model.number, [toInt8(one)]));
    const question = index.beginQuery(wholeNamespace);
    const near = question.nearest(toInt8(query), { count: 2 });
    expect(near.map(({ row }) => row)).toEqual([0, 1]);
    expect(near[0]?.cosine).toBeCloseTo(1, 1);
  });

  it('finds a nearer vector among thousands of equally near vectors', () => {
    const [same, query] = [toInt8(randomEmbedding()), toInt8(randomEmbedding())];
    const index = new RecallIndex(model);
    const ties = 20_000;
    for (let ordinal = 1; ordinal <= ties; ordinal++) {
      index.putEntry(withVectors(packEntry({ ...plain, ordinal }), model.number, [same]));
    }
    index.putEntry(withVectors(packEntry({ ...plain, ordinal: ties + 1 }), model.number, [query]));
    const question = index.beginQuery(wholeNamespace);
    const near = question.nearest(query, { count: 50 });
    expect(near).toHaveLength(50);
    expect(near[0]?.row).toBe(ties);
  });

  it('returns the nearest vectors for any result count, even if they are the oldest of thousands', () => {
    const query = randomEmbedding();
    const index = new RecallIndex(model);
    const [near, all] = [100, 20_000];
    for (let ordinal = 1; ordinal <= all; ordinal++) {
      const vector = ordinal <= near ? query : directions[ordinal % directions.length];
      const entry = packEntry({ ...plain, ordinal });
      index.putEntry(withVectors(entry, model.number, [toInt8(Float32Array.from(vector ?? []))]));
    }
    const question = index.beginQuery(wholeNamespace);
    for (const count of [1, 500, 1366, 2000, 5000]) {
      const found = question.nearest(toInt8(query), { count });
      expect(found).toHaveLength(count);
      const ordinals = found.slice(0, near).map(({ row }) => index.ordinal(row));
      expect(ordinals.every((ordinal) => ordinal <= near)).toBe(true);
    }
  });

  it('returns other memories in addition to hundreds of memories with the same text', () => {
    const index = new RecallIndex(model);
    const texts = [randomEmbedding(), randomEmbedding(), randomEmbedding()].map(toInt8);
    for (let ordinal = 1; ordinal <= 900; ordinal++) {
      const text = ordinal % 3;
      const entry = packEntry({ ...plain, ordinal, frequencies: new Map([[text + 1, 1]]) });
      index.putEntry(withVectors(entry, model.number, [texts[text] as Int8Vector]));
    }
    for (let ordinal = 901; ordinal <= 940; ordinal++) {
      const entry = packEntry({ ...plain, ordinal, frequencies: new Map([[ordinal, 1]]) });
      index.putEntry(withVectors(entry, model.number, [toInt8(randomEmbedding())]));
    }
    const near = (count: number, maxOfText?: number) => {
      const question = index.beginQuery(wholeNamespace);
      const limits = maxOfText === undefined ? { count } : { count, maxOfText };
      return question.nearest(texts[0] as Int8Vector, limits).map(({ row }) => index.ordinal(row));
    };
    const newest = [900, 897, 894, 891, 888];
    expect(near(5)).toEqual(newest);
    expect(near(44, 4).slice(0, 4)).toEqual(newest.slice(0, 4));
    expect(near(44, 4).filter((ordinal) => ordinal > 900).length).toBeGreaterThanOrEqual(32);
    const all = near(100, 4);
    expect(new Set(all).size).toBe(100);
    expect(all.slice(0, 52).filter((ordinal) => ordinal > 900)).toHaveLength(40);
  });

  it('returns other memories in addition to a memory with hundreds of vectors', () => {
    const query = randomEmbedding();
    const index = new RecallIndex(model);
    const nearly = Array.from({ length: 600 }, () =>
      toInt8(Float32Array.from(toUnit([...query].map((component) => component + 0.01 * random())))),
    );
    index.putEntry(withVectors(packEntry(plain), model.number, nearly));
    for (let ordinal = 2; ordinal <= 61; ordinal++) {
      index.putEntry(withVectors(packEntry({ ...plain, ordinal }), model.number, [toInt8(randomEmbedding())]));
    }
    const question = index.beginQuery(wholeNamespace);
    const rows = question.nearest(toInt8(query), { count: 50 }).map(({ row }) => row);
    expect(rows[0]).toBe(0);
    expect(new Set(rows).size).toBe(50);
  });

  it('returns exact cosines of eight-bit vectors, whether the vectors are cached or read', () => {
    const vectors = Array.from({ length: 40 }, () =>
      [randomEmbedding(), ...(random() < 0.3 ? [randomEmbedding()] : [])].map(toInt8),
    );
    const index = new RecallIndex(model);
    for (const [i, some] of vectors.entries()) {
      index.putEntry(withVectors(packEntry({ ...plain, ordinal: i + 1 }), model.number, some));
    }
    const rows = [...vectors.keys()];
    const [query, another] = [randomEmbedding(), randomEmbedding()];
    const exact = (to: Float32Array, row: number) =>
      Math.max(...(vectors[row] as Uint8Array[]).map((vector) => dotInt8(to, vector)));
    const asked: number[] = [];
    const measured = (to: Float32Array) =>
      index.exactCosines(to, [...rows, 0], (row) => {
        asked.push(row);
        return vectors[row] as Uint8Array[];
      });
    for (const to of [query, another]) {
      const cosines = measured(to);
      expect([...cosines.keys()]).toEqual(rows);
      for (const row of rows) expect(cosines.get(row)).toBeCloseTo(exact(to, row), 10);
    }
    const ofSeveral = rows.filter((row) => (vectors[row] as Uint8Array[]).length > 1);
    expect(asked).toEqual([...rows, ...ofSeveral]);
  });

  it.each([1, 7, 100, 385])('computes exact cosines over all of %d dimensions', (dimensions) => {
    const index = new RecallIndex({ number: 1, modelId: 'one', dimensions });
    const getUnit = () => Float32Array.from(toUnit(Array.from({ length: dimensions }, random)));
    const [query, vector] = [getUnit(), toInt8(getUnit())];
    index.putEntry(withVectors(packEntry(plain), 1, [vector]));
    for (let i = 0; i < 2; i++) {
      expect(index.exactCosines(query, [0], () => [vector]).get(0)).toBeCloseTo(dotInt8(query, vector), 10);
    }
  });

  it('reads a vector again if the vector has changed or was evicted from the cache', () => {
    const index = new RecallIndex(model);
    const [old, changed, query] = [randomEmbedding(), randomEmbedding(), randomEmbedding()];
    const cosine = (row: number, vector: Float32Array) =>
      index.exactCosines(query, [row], () => [toInt8(vector)]).get(row) as number;
    index.putEntry(withVectors(packEntry(plain), model.number, [toInt8(old)]));
    expect(cosine(0, old)).toBeCloseTo(dotInt8(query, toInt8(old)), 10);
    index.putEntry(withVectors(packEntry(plain), model.number, [toInt8(changed)]));
    expect(cosine(0, changed)).toBeCloseTo(dotInt8(query, toInt8(changed)), 10);
    // The row number differs by the number of slots of the vector cache.
    for (const row of [16_384, 0]) {
      const vector = randomEmbedding();
      expect(cosine(row, vector)).toBeCloseTo(dotInt8(query, toInt8(vector)), 10);
    }
    index.removeMemory(plain.ordinal);
    expect(index.exactCosines(query, [0], () => []).size).toBe(0);
  });

  it('ignores vectors of other models and of removed memories', () => {
    const [vector] = [toInt8(randomEmbedding())];
    const index = new RecallIndex(model);
    index.putEntry(withVectors(packEntry(plain), 4, [vector]));
    index.putEntry(withVectors(packEntry({ ...plain, ordinal: 2 }), model.number, [vector]));
    index.putEntry(packEntry({ ...plain, ordinal: 3 }));
    const nearest = () => index.beginQuery(wholeNamespace).nearest(vector, { count: 5 });
    expect(nearest().map(({ row }) => row)).toEqual([1]);
    expect([...index.cosines(vector, [0, 2])]).toEqual([Number.NaN, Number.NaN]);
    index.removeMemory(2);
    index.putEntry(withVectors(packEntry(plain), model.number, [vector]));
    expect(nearest().map(({ row }) => row)).toEqual([0]);
  });

  it('finds the remaining memories by their vectors after thousands of memories were removed', () => {
    const index = new RecallIndex(model);
    const vectors = Array.from({ length: 3000 }, randomEmbedding);
    vectors.forEach((vector, i) => {
      index.putEntry(withVectors(packEntry({ ...plain, ordinal: i + 1 }), model.number, [toInt8(vector)]));
    });
    for (let ordinal = 1; ordinal <= 3000; ordinal++) if (ordinal % 2 === 1) index.removeMemory(ordinal);
    index.sweepTerms();
    const question = index.beginQuery(wholeNamespace);
    for (const row of [1, 1001, 2999]) {
      expect(question.nearest(toInt8(vectors[row] as Float32Array), { count: 1 })[0]?.row).toBe(row);
      expect(index.cosines(toInt8(vectors[row] as Float32Array), [row])[0]).toBeCloseTo(1, 1);
    }
  });

  // Like text embeddings, these vectors lie near a few directions.
  function randomEmbedding(): Float32Array {
    const vector = new Float32Array(model.dimensions);
    for (let i = 0; i < 6; i++) {
      const direction = directions[Math.floor(((random() + 1) / 2) * directions.length)] as number[];
      const weight = random();
      for (let j = 0; j < vector.length; j++) {
        vector[j] = (vector[j] as number) + weight * (direction[j] as number) + 0.02 * random();
      }
    }
    const length = Math.sqrt(dot(vector, vector));
    return vector.map((component) => component / length);
  }
});

/** Returns the ten rows of the largest cosines. */
function getTopTen(rows: readonly number[], getCosine: (row: number) => number): number[] {
  const cosines = Float64Array.from(rows, getCosine);
  const tenth = cosines.toSorted().at(-10) ?? Number.NEGATIVE_INFINITY;
  return rows.filter((_, place) => (cosines[place] as number) >= tenth);
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] as number);
  return sum;
}

function toUnit(components: number[]): number[] {
  const length = Math.hypot(...components);
  return components.map((component) => component / length);
}

/** Returns a generator of numbers from -1 to 1 (mulberry32). */
function createRandom(seed: number): () => number {
  let at = seed;
  return () => {
    at = (at + 0x6d2b79f5) | 0;
    let mixed = Math.imul(at ^ (at >>> 15), 1 | at);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 31 - 1;
  };
}
