import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MARKS, NO_SPEAKER } from '../text/traits.ts';
import { getWordMatches } from './bm25.ts';
import { getEvidence } from './evidence.ts';
import { type RankedRow, rank } from './rank.ts';
import type { Evidence, QueryIntent } from './ranking.ts';
import { getRerankCandidates, withReranks } from './rerank-candidates.ts';
import type { EvidenceColumns } from './scores.ts';
import { getScores } from './scores.ts';
import type { Signals } from './signals.ts';
import { WEIGHTS } from './weights.ts';

interface Row {
  ordinal: number;
  /** Equal numbers are equal texts; unique by default. */
  text?: number;
  length: number;
  frequencies: number[];
  cosine: number;
  retention: number;
  session: number;
  supersededBy: number;
  distilledInto: number;
}

/** Creates signals of rows in order of arrival: the pool, then the tail, then neighbors. */
function makeSignals(rows: Row[], documentFrequencies: number[], options: Partial<Signals> = {}): Signals {
  const { previous, next } = neighbors(rows);
  return {
    memoryCount: 1000,
    now: 0,
    documentFrequencies,
    found: options.pool ?? rows.length,
    pool: rows.length,
    candidateCount: rows.length,
    ordinals: Float64Array.from(rows, (row) => row.ordinal),
    createdAts: Float64Array.from(rows, (row) => row.ordinal),
    begins: Float64Array.from(rows, (row) => row.ordinal),
    ends: new Float64Array(rows.length).fill(Number.POSITIVE_INFINITY),
    lengths: Uint32Array.from(rows, (row) => row.length),
    frequencies: Uint16Array.from(rows.flatMap((row) => row.frequencies)),
    synonyms: [],
    synonymFrequencies: new Uint16Array(),
    speaks: new Uint8Array(rows.length * documentFrequencies.length),
    persons: new Uint8Array(documentFrequencies.length),
    dated: new Uint8Array(documentFrequencies.length),
    named: new Uint8Array(documentFrequencies.length),
    everyday: new Float64Array(documentFrequencies.length),
    cosines: Float32Array.from(rows, (row) => row.cosine),
    nearnesses: new Float32Array(rows.length).fill(Number.NaN),
    texts: Int32Array.from(rows, (row, place) => row.text ?? -1 - place),
    retentions: Float32Array.from(rows, (row) => row.retention),
    sessions: Int32Array.from(rows, (row) => row.session),
    // Two speakers alternate in each session.
    speakers: Uint32Array.from(rows, (row) => (row.session < 0 ? NO_SPEAKER : 1 + (row.ordinal % 2))),
    marks: new Uint16Array(rows.length),
    previous,
    next,
    supersededBy: Int32Array.from(rows, (row) => row.supersededBy),
    distilledInto: Int32Array.from(rows, (row) => row.distilledInto),
    stagesMs: { words: 0, vectors: 0, fuse: 0 },
    ...options,
  };
}

/** Converts the evidence of one row into columns. */
function getColumns(evidence: Evidence): EvidenceColumns {
  return mapped(evidence, (value) => Float64Array.of(value));
}

function mapped<From, To>(evidence: Record<keyof Evidence, From>, map: (of: From) => To): Record<keyof Evidence, To> {
  const entries = Object.entries(evidence).map(([name, value]) => [name, map(value)]);
  return Object.fromEntries(entries);
}

function neighbors(rows: Row[]): { previous: Int32Array; next: Int32Array } {
  const previous = new Int32Array(rows.length).fill(-1);
  const next = new Int32Array(rows.length).fill(-1);
  const inOrder = [...rows.keys()].sort((a, b) => rowAt(rows, a).ordinal - rowAt(rows, b).ordinal);
  const last = new Map<number, number>();
  for (const row of inOrder) {
    const { session } = rowAt(rows, row);
    if (session < 0) continue;
    const before = last.get(session);
    if (before !== undefined) {
      previous[row] = before;
      next[before] = row;
    }
    last.set(session, row);
  }
  return { previous, next };
}

function rowAt<T>(rows: readonly T[], index: number): T {
  return rows[index] as T;
}

const plain: Row = {
  ordinal: 1,
  length: 20,
  frequencies: [1],
  cosine: 0.3,
  retention: 1,
  session: -1,
  supersededBy: -1,
  distilledInto: -1,
};

/** Creates rows that differ from `plain` as given, with ordinals 1, 2, … */
function memories(...differences: Partial<Row>[]): Row[] {
  return differences.map((difference, index) => ({ ...plain, ordinal: index + 1, ...difference }));
}

const all = { limit: Number.MAX_SAFE_INTEGER };
const getRows = (ranked: RankedRow[]) => ranked.map(({ row }) => row);

const TERMS = 3;
const anyRows = fc
  .array(
    fc.record({
      text: fc.nat({ max: 9 }),
      length: fc.nat({ max: 500 }),
      frequencies: fc.array(fc.nat({ max: 65_535 }), { minLength: TERMS, maxLength: TERMS }),
      cosine: fc.oneof(fc.double({ min: -1, max: 1, noNaN: true }), fc.constant(Number.NaN)),
      retention: fc.double({ min: 0, max: 1, noNaN: true }),
      session: fc.integer({ min: -1, max: 3 }),
      successor: fc.integer({ min: -20, max: 19 }),
    }),
    { minLength: 1, maxLength: 20 },
  )
  .map((drawn) =>
    drawn.map(({ successor, ...row }, index) => ({
      ...row,
      ordinal: index + 1,
      supersededBy: successor >= 0 && successor < drawn.length && successor !== index ? successor : -1,
      distilledInto: -1,
    })),
  );
const anyFrequencies = fc.array(fc.nat({ max: 2000 }), { minLength: TERMS, maxLength: TERMS });

describe('ranking', () => {
  it('ranks the memory with more query words first', () => {
    const rows = memories({ frequencies: [0, 1] }, { frequencies: [1, 1] }, { frequencies: [1, 0] });
    expect(getRows(rank(makeSignals(rows, [5, 300]), all))).toEqual([1, 2, 0]);
  });

  it('ranks by vectors if no word matches', () => {
    const rows = memories({ frequencies: [0], cosine: 0.1 }, { frequencies: [0], cosine: 0.7 });
    expect(getRows(rank(makeSignals(rows, [0]), all))).toEqual([1, 0]);
  });

  it('prefers a memory with a relevant neighbor', () => {
    const rows = memories(
      { session: 0 },
      { session: 0, cosine: 0.9 },
      { session: 0, frequencies: [0], cosine: 0 },
      { session: 0 },
    );
    expect(getRows(rank(makeSignals(rows, [5]), all)).slice(0, 3)).toEqual([1, 0, 3]);
  });

  it('prefers a memory in the session of the most relevant memory', () => {
    const rows = memories(
      { session: 0, cosine: 0.9 },
      { session: 1 },
      { session: 0, frequencies: [0] },
      { session: 0 },
    );
    expect(getRows(rank(makeSignals(rows, [5]), all)).slice(0, 2)).toEqual([0, 3]);
  });

  it('gives notes of a session in which nobody speaks no context, and of two notes in it the same scores as of two alone', () => {
    const getScored = (session: number) => {
      const rows = memories({ session, cosine: 0.9 }, { session }, { cosine: 0.5 });
      return rank(makeSignals(rows, [5], { speakers: new Uint32Array(3) }), all).map(({ row, score }) => [row, score]);
    };
    expect(getScored(0)).toEqual(getScored(-1));
  });

  it('treats a session without named speakers as a conversation if more than a quarter of it are questions', () => {
    const rows = memories({ session: 0, cosine: 0.9 }, { session: 0 }, { session: 0 });
    const getNeighbor = (mark: number) => {
      const marks = Uint16Array.of(mark, 0, 0);
      const ranked = rank(makeSignals(rows, [5], { marks, speakers: new Uint32Array(3) }), all);
      return ranked.find(({ row }) => row === 1)?.evidence.neighbor as number;
    };
    expect(getNeighbor(MARKS.question)).toBeGreaterThan(getNeighbor(0));
  });

  it('gives a memory alone the context that its relevance leads to in the conversations of the pool', () => {
    const turns = Array.from({ length: 20 }, (_, i) => ({ session: 0, cosine: 0.3 + 0.02 * i }));
    const getEvidenceOfFirst = (rows: Row[]) =>
      rank(makeSignals(rows, [5]), all).find(({ row }) => row === 0)?.evidence;
    const alone = getEvidenceOfFirst(memories({ cosine: 0.5 }));
    const among = getEvidenceOfFirst(memories({ cosine: 0.5 }, ...turns));
    expect(alone?.passage).toBe(alone?.neighbor);
    expect(among?.passage).toBeGreaterThan(alone?.passage as number);
    expect(among?.words).toBe(alone?.words);
  });

  it('includes the four memories before and the four memories after a memory in its passage', () => {
    const getPassage = (distance: number) => {
      const frequencies = (row: number) => [row === 0 ? 1 : 0, row === distance ? 1 : 0];
      const rows = memories(...Array.from({ length: 6 }, (_, row) => ({ session: 0, frequencies: frequencies(row) })));
      return rank(makeSignals(rows, [5, 5]), all).find(({ row }) => row === 0)?.evidence.passage as number;
    };
    const alone = getPassage(5);
    for (const distance of [1, 2, 3, 4]) expect(getPassage(distance)).toBeGreaterThan(alone);
  });

  it('prefers turns by a speaker whom the query names, and does not treat a title as a speaker', () => {
    const said = (session: number) => {
      const rows = memories(
        { session, frequencies: [1, 1] },
        { session: session < 0 ? session : 1, frequencies: [1, 1] },
      );
      return rank(makeSignals(rows, [5, 300], { speaks: Uint8Array.of(0, 1, 0, 0) }), all);
    };
    const [named, other] = said(0);
    expect([named?.row, other?.row]).toEqual([0, 1]);
    expect(named?.score).toBeGreaterThan(other?.score ?? 1);
    const [title, text] = said(-1);
    expect(title?.score).toBe(text?.score);
  });

  it.each([
    ['another speaker', [1, 2], true],
    ['the same speaker', [1, 1], false],
    ['no named speaker', [0, 0], true],
  ])(
    'recognizes a reply in the turn after a relevant question only if the speaker can have replied: %s',
    (_, speakers, doesReply) => {
      const rows = memories({ session: 0, cosine: 0.9 }, { session: 0 }, { session: 0 });
      const marks = Uint16Array.of(MARKS.question, 0, 0);
      const signals = makeSignals(rows, [5], { marks, speakers: Uint32Array.of(...speakers, 3) });
      const [question, answer, next] = rank(signals, all).sort((a, b) => a.row - b.row);
      expect((answer?.evidence.reply ?? 0) > 0).toBe(doesReply);
      expect([question?.evidence.reply, next?.evidence.reply]).toEqual([0, 0]);
    },
  );

  it('treats memories without a session as a conversation if two speakers alternate', () => {
    const rows = memories({ cosine: 0.9 }, {}, {}, {}, {}, {});
    const asked = (speakers: number[]) =>
      rank(
        makeSignals(rows, [5, 300], {
          frequencies: Uint16Array.of(1, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0),
          marks: Uint16Array.of(MARKS.question, 0, 0, 0, 0, 0),
          speakers: Uint32Array.from(speakers),
          speaks: Uint8Array.of(0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0),
          previous: Int32Array.of(-1, 0, 1, 2, 3, 4),
          next: Int32Array.of(1, 2, 3, 4, 5, -1),
        }),
        all,
      );
    const [, answer, named, other] = asked([1, 2, 1, 2, 1, 2]).sort((a, b) => a.row - b.row);
    expect(answer?.evidence.reply).toBeGreaterThan(0);
    expect(answer?.evidence.neighbor).toBeGreaterThan(other?.evidence.neighbor as number);
    expect(named?.evidence.words).toBeGreaterThan(other?.evidence.words as number);
    const titles = asked([1, 2, 3, 4, 5, 6]);
    for (const { evidence } of titles) expect(evidence.passage).toBe(evidence.neighbor);
    expect(titles.map(({ evidence }) => evidence.reply)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(titles.filter(({ row }) => row > 0).map(({ score }) => score)).toEqual(Array(5).fill(titles[1]?.score));
  });

  it('rates a memory created on the queried date at half of a memory whose text names the date', () => {
    const date = { from: 1, until: 2, earliest: 1, latest: 2, text: 'on 7 May' };
    const rows = memories(
      { ordinal: 0, frequencies: [0, 0, 0] },
      { ordinal: 1, frequencies: [0, 0, 0] },
      { ordinal: 2, frequencies: [0, 9, 9] },
    );
    const signals = makeSignals(rows, [3, 5, 5], { dated: Uint8Array.of(0, 1, 1) });
    const [earlier, of, says] = rank(signals, { ...all, intent: { date } }).sort((a, b) => a.row - b.row);
    expect(earlier?.evidence.words).toBe(0);
    expect(of?.evidence.words).toBeGreaterThan(0.2);
    expect(says?.evidence.words).toBeGreaterThan(of?.evidence.words as number);
    expect(
      rank(signals, all)
        .map(({ evidence }) => evidence.words)
        .toSorted(),
    ).toEqual([0, 0, says?.evidence.words]);
  });

  it('rates the word "my" only for memories in sessions, and only if the query names no date', () => {
    const asked = (session: number, persons: number[], intent: QueryIntent = {}) => {
      const rows = memories(
        { session, frequencies: [1, 0] },
        { session: session < 0 ? session : 1, frequencies: [0, 1] },
      );
      return rank(makeSignals(rows, [2, 5], { persons: Uint8Array.from(persons) }), { ...all, intent });
    };
    expect(getRows(asked(-1, [1, 0]))).toEqual([1, 0]);
    expect(asked(-1, [1, 0])[1]?.evidence.words).toBe(0);
    expect(getRows(asked(0, [1, 0]))).toEqual([0, 1]);
    expect(
      getRows(asked(0, [1, 0], { date: { from: 5, until: 6, earliest: 5, latest: 6, text: 'yesterday' } })),
    ).toEqual([1, 0]);
    expect(getRows(asked(-1, [0, 0]))).toEqual([0, 1]);
    expect(asked(-1, [1, 1]).map(({ evidence }) => evidence.words)).toEqual([0, 0]);
  });

  it.each([
    ['an instruction', MARKS.instruction, {}, true],
    ['no instruction for a question about the past', MARKS.instruction, { looksBack: true }, false],
    ['a preference for a question for advice', MARKS.preference, { asksAdvice: true }, true],
    ['no preference for a question about a fact', MARKS.preference, {}, false],
  ])('ranks first among similarly relevant memories: %s', (_, mark, intent, goesFirst) => {
    const rows = memories({ cosine: 0.5 }, { cosine: 0.55 });
    const signals = makeSignals(rows, [5], { marks: Uint16Array.of(mark, 0) });
    expect(getRows(rank(signals, { ...all, intent }))).toEqual(goesFirst ? [0, 1] : [1, 0]);
  });

  it('weights vectors higher than words for a question for advice, unless the question is about the past', () => {
    const rows = memories({ cosine: 0.2 }, { frequencies: [0], cosine: 0.5 });
    const ask = (intent: QueryIntent) => getRows(rank(makeSignals(rows, [5]), { ...all, intent }));
    expect(ask({})).toEqual([0, 1]);
    expect(ask({ asksAdvice: true })).toEqual([1, 0]);
    expect(ask({ asksAdvice: true, looksBack: true })).toEqual([0, 1]);
  });

  it('ranking does not prefer an instruction if most candidates are instructions', () => {
    const rows = memories({ cosine: 0.5 }, { cosine: 0.55 }, {}, {}, {}, {}, {}, {});
    const wish = (instructions: number) => {
      const marks = Uint16Array.from(rows, (_, row) => (row < instructions && row !== 1 ? MARKS.instruction : 0));
      return rowAt(rank(makeSignals(rows, [5], { marks }), all), 0);
    };
    expect(wish(1).row).toBe(0);
    expect(wish(8).row).toBe(1);
    expect(wish(8).evidence.wish).toBe(0);
  });

  it('ranking does not rank an unrelated instruction above an answer', () => {
    const rows = memories({ frequencies: [0], cosine: 0.2 }, { cosine: 0.4 });
    expect(getRows(rank(makeSignals(rows, [5], { marks: Uint16Array.of(MARKS.instruction, 0) }), all))).toEqual([1, 0]);
  });

  it('lowers the score of a long text', () => {
    const rows = memories({ length: 99, frequencies: [0] }, { length: 199, frequencies: [0] });
    const [short, long] = rank(makeSignals(rows, [5]), all);
    expect([short?.row, short?.evidence.length]).toEqual([0, 0]);
    expect(long?.evidence.length).toBeCloseTo(Math.log(2), 5);
    const [longer] = rank(makeSignals(memories({ length: 500 }), [5]), all);
    const [longest] = rank(makeSignals(memories({ length: 50_000 }), [5]), all);
    expect(longest?.evidence.length).toBe(longer?.evidence.length);
  });

  it('limits the length penalty, so that a word in a very long text still matches', () => {
    const rows = memories({ length: 17_000 }, { length: 20, frequencies: [0] });
    expect(getRows(rank(makeSignals(rows, [1]), all))).toEqual([0, 1]);
  });

  it('ranks the memory with the later creation time first if memories are almost equally relevant', () => {
    const now = Date.UTC(2026, 10, 27);
    const years = [2026, 2024, 2025];
    const createdAts = Float64Array.from(years, (year) => Date.UTC(year, 3, 1));
    const rows = memories({ cosine: 0.3 }, { cosine: 0.31 }, { cosine: 0.3 });
    const ranked = rank(makeSignals(rows, [5], { now, createdAts }), all);
    expect(getRows(ranked)).toEqual([0, 2, 1]);
    expect(ranked[0]?.evidence.age).toBeCloseTo(Math.log1p(240 / 365.25), 5);
  });

  it('treats a memory created in the future as new', () => {
    const [first] = rank(makeSignals(memories({}), [5], { now: 0, createdAts: Float64Array.of(1e12) }), all);
    expect(first?.evidence.age).toBe(0);
  });

  it('lowers all scores if 20 memories are similarly relevant, without changing the order', () => {
    const several = (count: number) =>
      rank(
        makeSignals(memories(...Array.from({ length: count }, (_, row) => ({ cosine: 0.9 - row / 100 }))), [5]),
        all,
      );
    const [few, many] = [several(19), several(20)];
    expect(getRows(many).slice(0, 19)).toEqual(getRows(few));
    expect(many[0]?.score).toBeLessThan((few[0]?.score as number) - 0.05);
    expect(new Set(many.map(({ evidence }) => evidence.crowd)).size).toBe(1);
  });

  it('lowers all scores if a name in the query occurs in no memory', () => {
    const best = (frequency: number, options: Partial<Signals> = {}) =>
      rank(makeSignals(memories({ frequencies: [1, 0] }), [5, frequency], options), all)[0] as RankedRow;
    const named = Uint8Array.of(0, 1);
    expect(best(0, { named }).score).toBeLessThan(best(0).score);
    expect(best(1, { named }).evidence.missing).toBe(0);
    expect(best(0, { named, speaks: Uint8Array.of(0, 1) }).evidence.missing).toBe(0);
  });

  it('ranks a memory without a vector between near and far ones', () => {
    const rows = memories({ cosine: 0.8 }, { cosine: Number.NaN }, { cosine: 0.05 });
    expect(getRows(rank(makeSignals(rows, [5]), all))).toEqual([0, 1, 2]);
  });

  it('ranks by words if no memory has a vector', () => {
    const cosine = Number.NaN;
    const rows = memories({ cosine, frequencies: [0, 1] }, { cosine, frequencies: [1, 1] });
    const ranked = rank(makeSignals(rows, [5, 300]), all);
    expect(getRows(ranked)).toEqual([1, 0]);
    expect(rowAt(ranked, 0).score).toBeGreaterThan(WEIGHTS.relevantScore);
  });

  it('ranks the newer memory first if scores are equal', () => {
    expect(getRows(rank(makeSignals(memories({}, {}, {}), [5]), all))).toEqual([2, 1, 0]);
  });

  it('omits results below the minimum score, and includes results with exactly that score', () => {
    const cosines = Array.from({ length: 20 }, (_, i) => ({ cosine: i / 21 }));
    const signals = makeSignals(memories(...cosines), [5]);
    const ranked = rank(signals, all);
    expect(ranked).toHaveLength(cosines.length);
    for (const [place, { score }] of ranked.entries()) {
      expect(rank(signals, { ...all, minScore: score })).toEqual(ranked.slice(0, place + 1));
    }
  });

  it('returns nothing without candidates', () => {
    expect(rank(makeSignals([], [5]), all)).toEqual([]);
  });

  it('ranking does not rank neighbors of candidates', () => {
    const rows = memories({ session: 0 }, { session: 0, cosine: 0.9 });
    expect(getRows(rank(makeSignals(rows, [5], { pool: 1, candidateCount: 1 }), all))).toEqual([0]);
  });

  it('returns the same scores for the pool with and without a tail', () => {
    fc.assert(
      fc.property(anyRows, anyFrequencies, fc.nat({ max: 19 }), (rows, frequencies, tail) => {
        const pool = Math.max(0, rows.length - tail);
        // The pool does not know a successor that only the tail admits.
        const known = rows.map((row, index) =>
          index < pool && row.supersededBy >= pool ? { ...row, supersededBy: -1 } : row,
        );
        const long = rank(makeSignals(known, frequencies, { pool }), all);
        const short = rank(makeSignals(known, frequencies, { pool, candidateCount: pool }), all);
        expect(long.filter(({ row }) => row < pool)).toEqual(short);
      }),
    );
  });

  it('returns scores from 0 to 1, best first', () => {
    fc.assert(
      fc.property(anyRows, anyFrequencies, (rows, frequencies) => {
        const scores = rank(makeSignals(rows, frequencies), all).map(({ score }) => score);
        expect(scores).toHaveLength(rows.length);
        for (const score of scores) expect(score >= 0 && score <= 1).toBe(true);
        expect(scores).toEqual([...scores].sort((a, b) => b - a));
      }),
    );
  });

  it('returns the evidence of each score, and whether the score is inherited from another memory', () => {
    fc.assert(
      fc.property(anyRows, anyFrequencies, fc.nat({ max: 20 }), (rows, frequencies, pool) => {
        const signals = makeSignals(rows, frequencies, { pool: Math.min(pool, rows.length) });
        const own = getEvidence(signals);
        for (const { row, score, evidence, isInherited } of rank(signals, all)) {
          expect(getScores(getColumns(evidence))[0]).toBeCloseTo(score, 5);
          if (!isInherited) expect(getColumns(evidence)).toEqual(mapped(own, (values) => values.slice(row, row + 1)));
        }
      }),
    );
  });

  it('ranking does not depend on the order of candidates', () => {
    const shuffled = anyRows.chain((rows) =>
      fc.tuple(fc.constant(rows), fc.shuffledSubarray([...rows.keys()], { minLength: rows.length })),
    );
    fc.assert(
      fc.property(shuffled, anyFrequencies, ([rows, order], frequencies) => {
        const moved = order.map((from) => {
          const row = rowAt(rows, from);
          return { ...row, supersededBy: row.supersededBy < 0 ? -1 : order.indexOf(row.supersededBy) };
        });
        const there = rank(makeSignals(rows, frequencies), all);
        const here = rank(makeSignals(moved, frequencies), all);
        expect(here.map(({ row, ...rest }) => ({ row: order[row], ...rest }))).toEqual(there);
      }),
    );
  });

  it('returns the same first results for any limit', () => {
    fc.assert(
      fc.property(anyRows, anyFrequencies, fc.nat({ max: 20 }), (rows, frequencies, limit) => {
        const signals = makeSignals(rows, frequencies);
        expect(rank(signals, { limit })).toEqual(rank(signals, all).slice(0, limit));
      }),
    );
  });
});

describe('a memory with the same text as a better memory', () => {
  it('ranks below memories with other texts, with its own score', () => {
    const rows = memories(
      { text: 1, cosine: 0.8 },
      { text: 1, cosine: 0.9 },
      { text: 1, cosine: 0.8 },
      { cosine: 0.5 },
    );
    const ranked = rank(makeSignals(rows, [5]), all);
    expect(getRows(ranked)).toEqual([1, 3, 2, 0]);
    expect(ranked.map(({ evidence }) => evidence.repeat)).toEqual([0, 0, 1, 1]);
    expect(ranked.at(-1)?.score).toBeGreaterThan(0.05);
  });

  it.each([
    ['the older memory if both have the same retention', 0.5, [1, 0]],
    ['the memory with the lower retention', 0.6, [0, 1]],
  ])(
    'a memory with the same text as a better memory is, among two equally relevant memories, %s',
    (_, retention, order) => {
      const rows = memories({ text: 1, retention }, { text: 1, retention: 0.5 });
      expect(getRows(rank(makeSignals(rows, [5]), all))).toEqual(order);
    },
  );

  it('a memory with the same text as a better memory is not ranked lower if the better memory is only in the tail', () => {
    const rows = memories({ text: 1, cosine: 0.2 }, { text: 1, cosine: 0.9 });
    const ranked = rank(makeSignals(rows, [5], { pool: 1 }), all);
    expect(ranked.find(({ row }) => row === 0)?.evidence.repeat).toBe(0);
    expect(ranked.find(({ row }) => row === 1)?.evidence.repeat).toBe(1);
  });

  it('a memory with the same text as a better memory is a repeat of the best memory of the tail if both are in the tail', () => {
    const rows = memories({}, { text: 1, cosine: 0.2 }, { text: 1, cosine: 0.9 }, { text: 1, cosine: 0.4 });
    const { repeat } = getEvidence(makeSignals(rows, [5], { pool: 1 }));
    expect([...repeat]).toEqual([0, 1, 0, 1]);
  });

  it.each([
    ['repeats a memory of the pool, if its source is a candidate', 3, [1, 0, 0]],
    ['repeats no memory of the tail', 2, [0, 0, 0]],
  ])(
    'a memory with the same text as a better memory is not the original of other memories if it is a semantic memory, which %s',
    (_row, pool, expected) => {
      const rows = memories({ text: 1, cosine: 0.9 }, { distilledInto: 0 }, { text: 1, cosine: 0.2 });
      const { repeat } = getEvidence(makeSignals(rows, [5], { pool }));
      expect([...repeat]).toEqual(expected);
    },
  );

  it('a memory with the same text as a better memory is a repeat, while exactly one memory per text is not', () => {
    fc.assert(
      fc.property(anyRows, anyFrequencies, (rows, frequencies) => {
        const { repeat } = getEvidence(makeSignals(rows, frequencies));
        const standing = rows.filter((_, row) => repeat[row] === 0).map(({ text }) => text);
        expect(standing.toSorted()).toEqual([...new Set(rows.map(({ text }) => text))].toSorted());
      }),
    );
  });
});

describe('retention', () => {
  const getPlaces = (ranked: RankedRow[]) => new Map(ranked.map(({ row }, place) => [row, place]));

  it('orders equally relevant memories', () => {
    const rows = memories({ retention: 0.2 }, { retention: 0.9 }, { retention: 0.4 });
    expect(getRows(rank(makeSignals(rows, [5]), all))).toEqual([1, 2, 0]);
  });

  it('retention does not rank a less relevant memory above a more relevant memory', () => {
    const rows = memories({ retention: 0, frequencies: [1, 1] }, { retention: 1, frequencies: [1, 0] });
    expect(getRows(rank(makeSignals(rows, [300, 300]), all))).toEqual([0, 1]);
  });

  it('changes a score by at most .03, and never reorders distinct texts whose scores differ by more than that', () => {
    fc.assert(
      fc.property(anyRows, anyFrequencies, (drawn, frequencies) => {
        const rows = drawn.map((row, index) => ({ ...row, text: index, supersededBy: -1 }));
        const retained = rank(makeSignals(rows, frequencies), all);
        const equally = rank(
          makeSignals(
            rows.map((row) => ({ ...row, retention: 1 })),
            frequencies,
          ),
          all,
        );
        const [places, scores] = [getPlaces(retained), new Map(retained.map(({ row, score }) => [row, score]))];
        for (const [place, better] of equally.entries()) {
          expect(Math.abs(better.score - (scores.get(better.row) as number))).toBeLessThanOrEqual(0.03);
          for (const worse of equally.slice(place + 1)) {
            if (better.score - worse.score <= 0.03) continue;
            expect(places.get(better.row)).toBeLessThan(places.get(worse.row) as number);
          }
        }
      }),
    );
  });

  it('retention does not change the order of memories with the same retention', () => {
    const inOrder = (retention: number) => {
      const rows = memories({ retention }, { retention, cosine: 0.31 }, { retention, cosine: 0.9 }, { retention });
      return getRows(rank(makeSignals(rows, [5]), all));
    };
    expect(inOrder(0.1)).toEqual(inOrder(1));
  });
});

describe('a memory outside conversations', () => {
  it('a memory outside conversations has a passage and a session of at least its own relevance', () => {
    fc.assert(
      fc.property(anyRows, anyFrequencies, (rows, frequencies) => {
        const { words, meaning, passage, session } = getEvidence(makeSignals(rows, frequencies));
        for (const [row, { session: number }] of rows.entries()) {
          if (number >= 0) continue;
          const own = (words[row] as number) + WEIGHTS.evidence.meaning * (meaning[row] as number);
          expect(passage[row]).toBeGreaterThanOrEqual(own - 1e-9);
          expect(session[row]).toBeGreaterThanOrEqual(own - 1e-9);
        }
      }),
    );
  });
});

describe('a superseded memory', () => {
  it('ranks below its successor, even if the successor is less relevant', () => {
    const rows = memories({ cosine: 0.9, supersededBy: 1 }, { cosine: 0.1 }, { cosine: 0.5 });
    expect(getRows(rank(makeSignals(rows, [5]), all))).toEqual([1, 0, 2]);
  });

  it('ranks below all later successors', () => {
    const rows = memories({ cosine: 0.9, supersededBy: 2 }, { cosine: 0.1 }, { cosine: 0.5, supersededBy: 1 });
    expect(getRows(rank(makeSignals(rows, [5]), all))).toEqual([1, 2, 0]);
  });

  it('a superseded memory is returned if memories supersede each other in a circle', () => {
    const rows = memories({ cosine: 0.9, supersededBy: 1 }, { supersededBy: 0 }, { cosine: 0.5, supersededBy: 0 });
    expect(getRows(rank(makeSignals(rows, [5]), all))).toEqual([0, 2, 1]);
  });

  it('never ranks above its successor', () => {
    fc.assert(
      fc.property(anyRows, anyFrequencies, fc.nat({ max: 20 }), (rows, frequencies, pool) => {
        // Only newer memories supersede older ones here, so that there are no circles.
        const chained = rows.map((row, index) => (row.supersededBy > index ? row : { ...row, supersededBy: -1 }));
        const ranked = rank(makeSignals(chained, frequencies, { pool: Math.min(pool, rows.length) }), all);
        const places = new Map(ranked.map(({ row }, place) => [row, place]));
        for (const [row, { supersededBy }] of chained.entries()) {
          if (supersededBy >= 0) expect(places.get(supersededBy)).toBeLessThan(places.get(row) as number);
        }
      }),
    );
  });
});

describe('a semantic memory', () => {
  /**
   * Memories, followed by semantic memories distilled from them. The latter may be superseded and supersede nothing. A
   * semantic memory without a source here has a unique text, as it could otherwise be the better of two equal texts.
   */
  const anyDistilled = fc
    .tuple(anyRows, anyRows, fc.array(fc.integer({ min: -5, max: 19 }), { minLength: 20, maxLength: 20 }))
    .map(([rows, semantic, parts]) => {
      const sources = rows.map((row, index) => {
        const part = parts[index] as number;
        return { ...row, distilledInto: part >= 0 && part < semantic.length ? rows.length + part : -1 };
      });
      const hasSource = (index: number) => parts.slice(0, rows.length).includes(index);
      const distilled = semantic.map((row, index) => ({
        ...row,
        text: hasSource(index) ? row.text : -1 - rows.length - index,
        ordinal: rows.length + index + 1,
        session: -1,
        supersededBy: hasSource(index) && row.supersededBy < rows.length ? row.supersededBy : -1,
      }));
      return { sources, all: [...sources, ...distilled] };
    });

  it('ranks below its sources, even if it is more relevant', () => {
    const rows = memories({ cosine: 0.5, distilledInto: 3 }, { cosine: 0.1, distilledInto: 3 }, {}, { cosine: 0.9 });
    const ranked = rank(makeSignals(rows, [5]), all);
    expect(getRows(ranked)).toEqual([0, 2, 1, 3]);
    expect(rowAt(ranked, 3).score).toBe(rowAt(ranked, 2).score);
  });

  it('a semantic memory does not raise its successor above its sources', () => {
    const rows = memories({ cosine: 0.5, distilledInto: 1 }, { cosine: 0.9, supersededBy: 2 }, { cosine: 0.1 });
    expect(getRows(rank(makeSignals(rows, [5]), all))).toEqual([0, 2, 1]);
  });

  it('a semantic memory does not push a source out of the first k results, for any k', () => {
    const nearness = fc.oneof({ weight: 9, arbitrary: fc.constant(Number.NaN) }, fc.constant(0.9));
    const anyNearnesses = fc.array(nearness, { minLength: 40, maxLength: 40 });
    const anySpeakers = fc.array(fc.nat({ max: 2 }), { minLength: 40, maxLength: 40 });
    fc.assert(
      fc.property(anyDistilled, anyFrequencies, anyNearnesses, anySpeakers, (drawn, frequencies, near, speakers) => {
        const { sources, all: rows } = drawn;
        const rankRows = (some: Row[]) =>
          rank(
            makeSignals(some, frequencies, {
              nearnesses: Float32Array.from(some, ({ ordinal }) => near[ordinal - 1] as number),
              speakers: Uint32Array.from(some, ({ ordinal }) => speakers[ordinal - 1] as number),
              // Memories without a session have neighbors too.
              ...neighbors(
                some.map((row) => ({ ...row, session: row.ordinal > sources.length ? -1 : row.session + 1 })),
              ),
            }),
            all,
          );
        const ranked = rankRows(rows);
        const distilled = new Set(sources.map(({ distilledInto }) => distilledInto));
        const others = rows.filter((_, row) => !distilled.has(row)).map((row) => ({ ...row, distilledInto: -1 }));
        expect(getRows(ranked.filter(({ row }) => !distilled.has(row))).map((row) => rowAt(rows, row).ordinal)).toEqual(
          getRows(rankRows(others)).map((row) => rowAt(others, row).ordinal),
        );
        const places = new Map(ranked.map(({ row, score }, place) => [row, { place, score }]));
        for (const [row, { distilledInto }] of sources.entries()) {
          if (distilledInto < 0) continue;
          const source = places.get(row) as { place: number; score: number };
          const semantic = places.get(distilledInto) as { place: number; score: number };
          expect(semantic.place).toBeGreaterThan(source.place);
          expect(semantic.score).toBeLessThanOrEqual(source.score);
        }
      }),
    );
  });
});

describe('a word match', () => {
  const match = (frequencies: number[], length: number, documentFrequencies: number[]) =>
    getWordMatches(makeSignals([{ ...plain, frequencies, length }], documentFrequencies)).reduce(
      (sum, word) => sum + word,
      0,
    );
  const frequencies = fc.array(fc.nat({ max: 60_000 }), { minLength: TERMS, maxLength: TERMS });
  const length = fc.nat({ max: 100_000 });

  it('a word match does not decrease with one more occurrence of a query term', () => {
    fc.assert(
      fc.property(frequencies, length, anyFrequencies, fc.nat({ max: TERMS - 1 }), (before, size, documents, term) => {
        const after = before.map((frequency, index) => frequency + (index === term ? 1 : 0));
        expect(match(after, size, documents)).toBeGreaterThanOrEqual(match(before, size, documents));
      }),
    );
  });

  it('a word match does not decrease if the text is shorter', () => {
    fc.assert(
      fc.property(frequencies, length, length, anyFrequencies, (any, a, b, documents) => {
        expect(match(any, Math.min(a, b), documents)).toBeGreaterThanOrEqual(match(any, Math.max(a, b), documents));
      }),
    );
  });

  it('a word match is between 0 and 2 for any counts', () => {
    fc.assert(
      fc.property(frequencies, length, anyFrequencies, fc.nat({ max: 10 }), (any, size, documents, memoryCount) => {
        const row = { ...plain, frequencies: any, length: size };
        const value = getWordMatches(makeSignals([row], documents, { memoryCount })).reduce(
          (sum, word) => sum + word,
          0,
        );
        expect(value).toBeGreaterThanOrEqual(0);
        expect(value).toBeLessThan(2);
      }),
    );
  });

  it('a word match is higher for a rare term than for a common one', () => {
    expect(match([1, 0], 20, [3, 300])).toBeGreaterThan(match([0, 1], 20, [3, 300]));
  });

  it('a word match is 0 for a query without words', () => {
    expect(match([], 20, [])).toBe(0);
  });
});

describe('a synonym of a query word', () => {
  const weights = fc.double({ min: 0.02, max: 0.3, noNaN: true });
  const frequency = fc.integer({ min: 1, max: 65_535 });

  /** One synonym of the first word, with its occurrences in each row. */
  const synonym = (weight: number, ...occurrences: number[]): Partial<Signals> => ({
    synonyms: [{ word: 0, weight }],
    synonymFrequencies: Uint16Array.from(occurrences),
  });

  it('increases the word match, but by less than the word itself', () => {
    fc.assert(
      fc.property(anyRows, anyFrequencies, weights, frequency, (rows, documents, weight, often) => {
        const [first = plain, ...others] = rows;
        const rest = first.frequencies.slice(1);
        const none = rows.map(() => 0);
        const ranked = (own: number, said: number) => {
          const told = makeSignals([{ ...first, frequencies: [own, ...rest] }, ...others], documents, {
            ...synonym(weight, said, ...none.slice(1)),
          });
          return getWordMatches(told)[0] as number;
        };
        expect(ranked(0, often)).toBeGreaterThan(0);
        expect(ranked(0, often)).toBeLessThan(ranked(often, 0));
        expect(ranked(often, often)).toBe(ranked(often, 0));
        expect(ranked(0, 0)).toBe(0);
      }),
    );
  });

  it('never ranks a memory above an equal memory that contains the word itself', () => {
    fc.assert(
      fc.property(anyRows, anyFrequencies, weights, frequency, (rows, documents, weight, often) => {
        // Texts with different words are different texts.
        const alone = rows.map(({ text: _, ...row }) => ({ ...row, session: -1, supersededBy: -1 }));
        const [one = plain] = alone;
        const asked = { ...one, ordinal: 0, frequencies: [often, ...one.frequencies.slice(1)] };
        const said = { ...one, ordinal: 100, frequencies: [0, ...one.frequencies.slice(1)] };
        const signals = makeSignals([asked, said, ...alone], documents, {
          ...synonym(weight, 0, often, ...alone.map(() => 0)),
        });
        const score = new Map(rank(signals, all).map((ranked) => [ranked.row, ranked.score]));
        expect(score.get(0)).toBeGreaterThanOrEqual(score.get(1) as number);
      }),
    );
  });

  it('ranks a memory above an equal memory without the synonym', () => {
    const rows = memories({ frequencies: [0, 1] }, { frequencies: [0, 1] });
    expect(getRows(rank(makeSignals(rows, [5, 5], synonym(0.2, 1, 0)), all))).toEqual([0, 1]);
    expect(getRows(rank(makeSignals(rows, [5, 5], synonym(0.2, 0, 1)), all))).toEqual([1, 0]);
  });

  it('increases the match of its own word only, and only the best of several synonyms increases the match', () => {
    const match = (...said: number[]) => {
      const synonyms = [0.1, 0.3].map((weight) => ({ word: 1, weight }));
      const options = { synonyms, synonymFrequencies: Uint16Array.from(said) };
      return [...getWordMatches(makeSignals([{ ...plain, frequencies: [0, 0] }], [5, 5], options))];
    };
    expect(match(1, 1)).toEqual(match(0, 1));
    expect(match(4, 1)).toEqual(match(4, 0));
    expect(match(1, 1)[0]).toBe(0);
    expect(match(1, 1)[1]).toBeGreaterThan(match(1, 0)[1] as number);
  });

  it('a synonym of a query word does not change the ranking if no memory contains the synonym', () => {
    fc.assert(
      fc.property(anyRows, anyFrequencies, weights, (rows, documents, weight) => {
        const without = rank(makeSignals(rows, documents), all);
        expect(rank(makeSignals(rows, documents, synonym(weight, ...rows.map(() => 0))), all)).toEqual(without);
      }),
    );
  });
});

const YEAR = 365 * 86_400_000;

describe('two notes about the same thing', () => {
  const note = { cosine: 0.6, frequencies: [1, 1], session: -1 };
  /** Ranks a first note of one year ago and a worse note of today. */
  const getOrder = (options: Partial<Signals> = {}, intent: QueryIntent = {}, worse: Partial<Row> = {}) => {
    const rows = memories(note, { ...note, cosine: 0.55, ...worse });
    const signals = makeSignals(rows, [5, 5], { now: YEAR, begins: Float64Array.of(0, YEAR), ...options });
    return rank(signals, { ...all, intent });
  };

  it('rank the later one first, with the score of the other', () => {
    const [first, second] = getOrder();
    expect(first).toMatchObject({ row: 1, isInherited: true, score: (second as RankedRow).score });
  });

  it.each<{ name: string; options?: Partial<Signals>; intent?: QueryIntent; worse?: Partial<Row> }>([
    { name: 'of the same hour', options: { begins: Float64Array.of(0, 3_599_999) } },
    { name: 'of one session', worse: { session: 1 }, options: { sessions: Int32Array.of(1, 1) } },
    {
      name: 'that are turns of conversations',
      options: { sessions: Int32Array.of(1, 2), speakers: Uint32Array.of(1, 2) },
    },
    { name: 'of which the later one is a question', options: { marks: Uint16Array.of(0, MARKS.question) } },
    {
      name: 'of which only the earlier one has a name of the query',
      options: { named: Uint8Array.of(1, 0) },
      worse: { frequencies: [0, 1] },
    },
    { name: 'of which the later one fits much worse', worse: { cosine: 0.1, frequencies: [0, 0] } },
    { name: 'for a question about the past', intent: { looksBack: true } },
  ])('keep their order $name', ({ options, intent, worse }) => {
    expect(getOrder(options, intent, worse).map(({ row }) => row)).toEqual([0, 1]);
  });

  it.each<{ name: string; options?: Partial<Signals>; intent?: QueryIntent }>([
    { name: 'the query asks for what holds now', intent: { asksForNow: true } },
    { name: 'the later one tells a change', options: { marks: Uint16Array.of(0, MARKS.change) } },
  ])('two notes about the same thing may differ more if $name', ({ options, intent }) => {
    const rows = memories(
      { ...note, frequencies: [0, 0], cosine: 0.7 },
      { ...note, frequencies: [0, 0], cosine: 0.45 },
    );
    const begins = Float64Array.of(0, YEAR);
    const rankWith = (signals: Partial<Signals> = {}, asked: QueryIntent = {}) =>
      getRows(rank(makeSignals(rows, [5, 5], { now: YEAR, begins, ...signals }), { ...all, intent: asked }));
    expect(rankWith()).toEqual([0, 1]);
    expect(rankWith(options, intent)).toEqual([1, 0]);
  });

  it('rank one that holds before one that has ended, or has not begun yet', () => {
    const times = { now: YEAR, begins: Float64Array.of(YEAR, 0) };
    expect(getRows(getOrder(times))).toEqual([0, 1]);
    expect(getRows(getOrder({ ...times, ends: Float64Array.of(YEAR, Number.POSITIVE_INFINITY) }))).toEqual([1, 0]);
    expect(getRows(getOrder({ ...times, begins: Float64Array.of(YEAR + 1, 0) }))).toEqual([1, 0]);
    expect(getRows(getOrder({ ...times, begins: Float64Array.of(0, YEAR + 1) }))).toEqual([0, 1]);
  });

  it('rank the earlier one first if the query asks for what was before, even if the later one superseded it', () => {
    const before = { asksForBefore: true, looksBack: true };
    const begins = Float64Array.of(YEAR, 0);
    expect(getRows(getOrder({ begins }, before))).toEqual([1, 0]);
    expect(getRows(getOrder({ begins: Float64Array.of(0, YEAR) }, before))).toEqual([0, 1]);
    const superseded = { begins, supersededBy: Int32Array.of(-1, 0) };
    expect(getRows(getOrder(superseded, before, { cosine: 0, frequencies: [0, 0] }))).toEqual([1, 0]);
    expect(getRows(getOrder(superseded, {}))).toEqual([0, 1]);
  });
});

describe('a statement takes the first place', () => {
  const word = { frequencies: [1, 0], cosine: 0.2, session: -1 };
  const near = { frequencies: [0, 0], cosine: 0.35, session: -1 };
  const getFirst = (rows: Partial<Row>[], options: Partial<Signals> = {}, intent: QueryIntent = {}) =>
    rank(makeSignals(memories(...rows), [200, 200], { nearnesses: Float32Array.of(0.3, 0.35), ...options }), {
      ...all,
      intent,
    })[0]?.row;

  it('a nearer statement ranks above a note that contains one everyday word of the query', () => {
    expect(getFirst([word, near])).toBe(1);
  });

  it.each<{ name: string; rows?: Partial<Row>[]; options?: Partial<Signals> }>([
    { name: 'it is hardly nearer', rows: [word, { ...near, cosine: 0.25 }] },
    { name: 'its tokens are farther', options: { nearnesses: Float32Array.of(0.3, 0.2) } },
    { name: 'the nearness of its tokens is unknown', options: { nearnesses: Float32Array.of(0.3, Number.NaN) } },
    { name: 'the word is a name', options: { named: Uint8Array.of(1, 0) } },
    { name: 'the first note contains two words', rows: [{ ...word, frequencies: [1, 1] }, near] },
    { name: 'it is a question', options: { marks: Uint16Array.of(0, MARKS.question) } },
    { name: 'it is of the tail', options: { pool: 1 } },
  ])(
    'a nearer statement stays below a note with one word of the query if $name',
    ({ rows = [word, near], options }) => {
      expect(getFirst(rows, options)).toBe(0);
    },
  );

  const other = { frequencies: [1, 0], cosine: 0.6, session: -1 };
  const own = { frequencies: [0, 0], cosine: 0.4, session: -1 };
  const marks = Uint16Array.of(MARKS.aboutPerson, MARKS.aboutUser);
  const asked = { asksAboutUser: true };

  it('a note about the user ranks above one about a person of the user if the query asks about the user', () => {
    expect(getFirst([other, own], { marks })).toBe(0);
    expect(getFirst([other, own], { marks }, asked)).toBe(1);
    expect(getFirst([other, own], { marks: Uint16Array.of(0, MARKS.aboutUser) }, asked)).toBe(0);
  });

  it('a note about the user ranks above a later note about a person of the user', () => {
    const later = { now: YEAR, begins: Float64Array.of(YEAR, 0) };
    expect(getFirst([other, { ...own, cosine: 0.5 }], { marks, ...later }, asked)).toBe(1);
  });

  it('the later of two notes about the user ranks first above one about a person of the user', () => {
    const rows = memories(other, { ...own, cosine: 0.5 }, { ...own, cosine: 0.49 });
    const marked = { marks: Uint16Array.of(MARKS.aboutPerson, MARKS.aboutUser, MARKS.aboutUser), now: YEAR };
    const ask = (begins: number[]) =>
      getRows(
        rank(makeSignals(rows, [200, 200], { ...marked, begins: Float64Array.from(begins) }), {
          ...all,
          intent: asked,
        }),
      );
    expect(ask([0, YEAR, 0])).toEqual([1, 2, 0]);
    expect(ask([0, 0, YEAR])).toEqual([2, 1, 0]);
  });

  it.each<{ name: string; rows?: Partial<Row>[]; options?: Partial<Signals>; intent?: QueryIntent }>([
    { name: 'the first one superseded it', options: { supersededBy: Int32Array.of(-1, 0) } },
    { name: 'it is much farther from the query', rows: [other, { ...own, cosine: 0.2 }] },
    { name: 'only the first one has a name of the query', options: { named: Uint8Array.of(1, 0) } },
    { name: 'both are turns', options: { sessions: Int32Array.of(1, 2), speakers: Uint32Array.of(1, 2) } },
    { name: 'the query asks for advice', intent: { asksAdvice: true } },
  ])(
    'a note about the user stays below one about a person of the user if $name',
    ({ rows = [other, own], options, intent }) => {
      expect(getFirst(rows, { marks, ...options }, { ...asked, ...intent })).toBe(0);
    },
  );
});

describe('words of many notes', () => {
  const getScores = (documents: number[], options: Partial<Signals> = {}) => {
    const rows = memories({ frequencies: [1, 0], session: -1 }, { frequencies: [0, 0], session: -1 });
    const ranked = rank(makeSignals(rows, documents, { memoryCount: 90, ...options }), all);
    return [0, 1].map((row) => ranked.find((each) => each.row === row)?.evidence.words);
  };

  it('words of many notes are no evidence if a third of the memories contain them, in a small store only if they are names', () => {
    expect(getScores([30, 1])).toEqual([0, 0]);
    expect(getScores([29, 1])[0]).toBeGreaterThan(0);
    expect(getScores([9, 1], { memoryCount: 27 })[0]).toBeGreaterThan(0);
    expect(getScores([9, 1], { memoryCount: 27, named: Uint8Array.of(1, 0) })).toEqual([0, 0]);
  });

  it('words of many notes are evidence in a conversation, where they tell who speaks', () => {
    const rows = memories({ frequencies: [1, 0], session: 1 }, { frequencies: [0, 0], session: 1 });
    const ranked = rank(makeSignals(rows, [30, 1], { memoryCount: 90 }), all);
    expect(ranked.find(({ row }) => row === 0)?.evidence.words).toBeGreaterThan(0);
  });
});

it('a note that contains all words of the query ranks above a nearer note that contains half of them', () => {
  const rows = memories(
    { frequencies: [1, 1], cosine: 0.1, session: -1 },
    { frequencies: [1, 0], cosine: 0.45, session: -1 },
  );
  expect(getRows(rank(makeSignals(rows, [5, 5]), all))).toEqual([0, 1]);
});

it('a text that states nothing scores less than a relevant result', () => {
  const rows = memories({ frequencies: [1, 1], cosine: 0.9 }, { frequencies: [0, 0], cosine: 0.3 });
  const [first, second] = rank(makeSignals(rows, [5, 5], { marks: Uint16Array.of(MARKS.noStatement, 0) }), all);
  expect([first?.row, second?.row]).toEqual([1, 0]);
  expect(second?.score).toBeLessThan(WEIGHTS.relevantScore);
});

it('a ranking of relevant results only leaves out results far below the best one, and all results if none is relevant', () => {
  const rows = memories(
    { frequencies: [1, 1], cosine: 0.9 },
    { frequencies: [1, 1], cosine: 0.5 },
    { frequencies: [0, 0], cosine: 0.45 },
  );
  const signals = makeSignals(rows, [5, 5]);
  const scores = rank(signals, all).map(({ score }) => score);
  const [best = 0, second = 0, third = 0] = scores;
  expect([second / best > WEIGHTS.relevantShare, third / best < WEIGHTS.relevantShare]).toEqual([true, true]);
  expect(rank(signals, { ...all, onlyRelevant: true }).map(({ score }) => score)).toEqual([best, second]);
  expect(rank(signals, { ...all, onlyRelevant: true, minScore: best })).toHaveLength(1);
  expect(rank(makeSignals(rows.slice(2), [5, 5]), { ...all, onlyRelevant: true })).toEqual([]);
});

describe('a ranking of relevant results only, for a query with a name', () => {
  const rows = memories(
    { frequencies: [1, 1], cosine: 0.7, session: 1 },
    { frequencies: [0, 1], cosine: 0.7, session: 1 },
    { frequencies: [0, 1], cosine: 0.7, session: 2 },
    { frequencies: [0, 1], cosine: 0.7, session: -1 },
  );
  const getRelevant = (documents: number[], named: Uint8Array) =>
    getRows(rank(makeSignals(rows, documents, { named }), { ...all, onlyRelevant: true })).sort();

  it('leaves out results without the name, unless their session contains it', () => {
    expect(getRelevant([5, 5], Uint8Array.of(0, 0))).toEqual([0, 1, 2, 3]);
    expect(getRelevant([5, 5], Uint8Array.of(1, 0))).toEqual([0, 1]);
  });

  it('keeps results without the name for a long query, which names more than it asks about', () => {
    const words = 15;
    const long = rows.map((row) => ({ ...row, frequencies: [...row.frequencies, ...Array(words - 2).fill(0)] }));
    const signals = makeSignals(long, Array(words).fill(5), { named: Uint8Array.of(1, ...Array(words - 1).fill(0)) });
    expect(getRows(rank(signals, { ...all, onlyRelevant: true })).sort()).toEqual([0, 1, 2, 3]);
  });

  it('keeps results with any of several names', () => {
    expect(getRelevant([5, 5], Uint8Array.of(1, 1))).toEqual([0, 1, 2, 3]);
  });
});

describe('growth of the store', () => {
  it('changes a score by less than .05 if the store grows tenfold with memories that contain no query word', () => {
    const rows = memories({ frequencies: [1, 1, 0] }, { frequencies: [0, 0, 1] }, { frequencies: [0, 1, 0] });
    fc.assert(
      fc.property(
        // A word that a third of the memories contain is no evidence.
        fc.integer({ min: 100, max: 20_000 }),
        fc.array(fc.nat({ max: 20 }), { minLength: 3, maxLength: 3 }),
        (size, documents) => {
          const before = rank(makeSignals(rows, documents, { memoryCount: size }), all);
          const after = rank(makeSignals(rows, documents, { memoryCount: 10 * size }), all);
          const later = new Map(after.map(({ row, score }) => [row, score]));
          for (const { row, score } of before) expect(Math.abs(score - (later.get(row) as number))).toBeLessThan(0.05);
        },
      ),
    );
  });

  it('changes a score by less than .05 if the first memory with a query word is stored', () => {
    const rows = memories({ frequencies: [1, 1, 0] });
    const [before] = rank(makeSignals(rows, [2, 30, 0], { memoryCount: 100 }), all);
    const [after] = rank(makeSignals(rows, [2, 30, 3], { memoryCount: 1000 }), all);
    expect(Math.abs((before as RankedRow).score - (after as RankedRow).score)).toBeLessThan(0.05);
  });
});

describe('reranking', () => {
  const getOrdinals = (ranked: RankedRow[]) => ranked.map(({ row }) => row + 1);

  it('adds the probability of each memory to its sum, and the mean to memories that were not reranked', () => {
    const signals = makeSignals(memories({}, {}, {}, {}), [40]);
    const reranked = withReranks(
      signals,
      new Map([
        [1, 0.9],
        [3, 0.1],
      ]),
    );
    const ranked = rank(reranked, all);
    expect(ranked.map(({ row, evidence }) => [row + 1, evidence.rerank])).toEqual([
      [1, 0.9],
      [4, 0.5],
      [2, 0.5],
      [3, 0.1],
    ]);
    for (const { score, evidence } of ranked)
      expect(score).toBeCloseTo(getScores(getColumns(evidence))[0] as number, 5);
    expect(getOrdinals(rank(signals, all))).toEqual([4, 3, 2, 1]);
  });

  it('leaves every score as it is if no memory was reranked', () => {
    const signals = makeSignals(memories({}, { cosine: 0.9 }), [40]);
    expect(rank(withReranks(signals, new Map()), all)).toEqual(rank(signals, all));
  });

  it('keeps a superseded memory below its successor, whatever the reranker says', () => {
    const signals = makeSignals(memories({ supersededBy: 1 }, {}), [40]);
    const probabilities = new Map([
      [1, 1],
      [2, 0],
    ]);
    expect(getOrdinals(rank(withReranks(signals, probabilities), all))).toEqual([2, 1]);
  });

  it('selects the first memories of the pool, without those of the tail', () => {
    const rows = memories({ cosine: 0.5 }, { cosine: 0.7 }, { cosine: 0.6 }, { cosine: 0.9 });
    const signals = makeSignals(rows, [40], { pool: 3 });
    expect(getRerankCandidates(signals, {}, 2)).toEqual([{ ordinal: 2 }, { ordinal: 3 }]);
    expect(getRerankCandidates(signals, {}, 10).map(({ ordinal }) => ordinal)).toEqual([2, 3, 1]);
  });

  it('selects no semantic memory whose source is a candidate', () => {
    const rows = memories({ cosine: 0.5, distilledInto: 2 }, { cosine: 0.7 }, { cosine: 0.9 });
    expect(getRerankCandidates(makeSignals(rows, [40]), {}, 2)).toEqual([{ ordinal: 2 }, { ordinal: 1 }]);
  });

  it('selects the turn before for each turn of a session', () => {
    const rows = memories({ session: 0, cosine: 0.9 }, { session: 0, cosine: 0.8 }, { cosine: 0.1 });
    expect(getRerankCandidates(makeSignals(rows, [40]), {}, 3)).toEqual([
      { ordinal: 1 },
      { ordinal: 2, previous: 1 },
      { ordinal: 3 },
    ]);
  });
});
