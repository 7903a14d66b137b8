import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NewMemory, Storage } from '@memoryd/core';
import type { DistilCandidate } from '@memoryd/core/ports';
import { openPostgres } from '@memoryd/postgres';
import { type DatabaseServer, TEST_CONNECTIONS, usePostgres } from '@memoryd/postgres/testing';
import type { MemoryFilter, SearchRequest, Signals } from '@memoryd/search';
import { getWordMatches, SynonymTable } from '@memoryd/search/testing';
import { openSqlite } from '@memoryd/sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const NOW = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;
const MODEL = 'test-model';
const DIMENSIONS = 256;

/** Enough for PostgreSQL to use the vector index. */
const MEMORIES = 4400;
const STORED_AT_ONCE = 400;
const POOL_SIZE = 50;

const NEAREST = 10;

/** Reproducible random numbers from 0 to 1 (Widynski 2020, "Squares: a fast counter-based RNG"). */
function randomNumbers(key = 0x9e3779b97f4a7c15n): () => number {
  let counter = 0n;
  const squared = (x: bigint, y: bigint) => {
    const z = BigInt.asUintN(64, x * x + y);
    return BigInt.asUintN(64, (z >> 32n) | (z << 32n));
  };
  return () => {
    const y = BigInt.asUintN(64, ++counter * key);
    return Number(squared(squared(squared(y, y), y + key), y) >> 32n) / 2 ** 32;
  };
}

const random = randomNumbers();
const below = (count: number) => Math.floor(random() * count);

/** A skewed distribution, like that of words: few common values and many rare ones. */
const skewed = (count: number) => Math.floor(count ** random()) - 1;

/** Many of these words are synonyms of each other. */
const TABLE = createRequire(import.meta.url).resolve('@memoryd/search/synonyms/english');
const WORDS = new SynonymTable(readFileSync(TABLE)).terms.filter((term) => term.length > 4).slice(0, 3000);
const word = () => WORDS[skewed(WORDS.length)] as string;
const words = (count: number) => Array.from({ length: count }, word).join(' ');
/** Words in few enough memories to be counted exactly. */
const rareWords = (count: number) => Array.from({ length: count }, () => WORDS[300 + below(1000)]).join(' ');
const NAMES = ['Alice', 'Bob', 'Carol', 'Dmitri', 'Eve'];

function normalize(values: Float32Array): Float32Array {
  const length = Math.hypot(...values);
  return values.map((value) => value / length);
}

const gaussian = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
const TOPICS = Array.from({ length: 40 }, () => Float32Array.from({ length: DIMENSIONS }, gaussian));

/** Returns a random vector near one of the topics. */
function vector(): Float32Array {
  const topic = TOPICS[below(TOPICS.length)] as Float32Array;
  return normalize(topic.map((value) => value + 0.7 * gaussian()));
}

const either = <A, B>(chance: number, one: A, other: B) => (random() < chance ? one : other);

function memories(): NewMemory[] {
  return Array.from({ length: MEMORIES }, (_, i) => ({
    namespace: i % 40 === 39 ? 'other' : 'default',
    id: `m${i}`,
    content: either(0.7, `${NAMES[below(NAMES.length)]}: `, '') + words(3 + below(20)),
    tags: either(0.2, [`t${skewed(20)}`], []),
    importance: random(),
    source: either(0.5, 'api', 'chat'),
    userId: '',
    agentId: '',
    sessionId: either(0.1, 'default', `s${Math.floor(i / 60)}`),
    metadata: either(0.1, { kind: `k${below(3)}` }, {}),
    externalId: i % 5 === 0 ? `doc ${i}` : null,
    createdAt: NOW + i * 1000 - either(0.1, below(50_000), 0),
    storedAt: NOW + i * 1000,
    expiresAt: either(0.03, NOW + below(20 * DAY_MS), null),
    validFrom: null,
    validTo: null,
    supersedes: i > 40 && i % 40 < 39 ? either(0.05, `m${i - (i % 40) - 2}`, null) : null,
  }));
}

const ALL_MEMORIES = memories();
const VECTORS = ALL_MEMORIES.map(() => Array.from({ length: random() < 0.05 ? 0 : 1 + skewed(4) }, vector));

const FILTERS: MemoryFilter[] = [
  // Matches more memories than are compared individually.
  { since: NOW },
  { source: 'chat' },
  { tags: ['t1'] },
  { sessionId: 's7' },
  { externalId: 'doc 425' },
  { since: NOW + 1_000_000, until: NOW + 3_000_000 },
  { metadata: { kind: 'k1' }, source: 'api' },
];

function request(fields: Partial<SearchRequest>): SearchRequest {
  return {
    namespace: 'default',
    text: '',
    filter: {},
    now: NOW + 10 * DAY_MS,
    poolSize: POOL_SIZE,
    tailSize: 0,
    ...fields,
  };
}

/** Returns the signals by ordinal, independent of the order of rows. */
function toComparable(signals: Signals) {
  const { ordinals, found, pool, candidateCount, memoryCount, documentFrequencies } = signals;
  const at = (row: number | undefined) => (row === undefined || row === -1 ? -1 : ordinals[row]);
  const count = documentFrequencies.length;
  const rows = Array.from(ordinals, (ordinal, row) => ({
    ordinal,
    createdAt: signals.createdAts[row],
    length: signals.lengths[row],
    frequencies: [...signals.frequencies.slice(row * count, (row + 1) * count)],
    speaks: [...signals.speaks.slice(row * count, (row + 1) * count)],
    speaker: signals.speakers[row],
    marks: signals.marks[row],
    hasSession: signals.sessions[row] !== -1,
    previous: at(signals.previous[row]),
    next: at(signals.next[row]),
    supersededBy: at(signals.supersededBy[row]),
    distilledInto: at(signals.distilledInto[row]),
    retention: row < candidateCount ? (signals.retentions[row] as number).toFixed(3) : '',
  }));
  return {
    memoryCount,
    documentFrequencies,
    found: sorted(ordinals.slice(0, found)),
    pool: sorted(ordinals.slice(0, pool)),
    candidateCount: sorted(ordinals.slice(0, candidateCount)),
    rows: rows.sort((a, b) => a.ordinal - b.ordinal),
  };
}

/** Returns the word match of each row, including synonyms, by ordinal. */
function getMatches(signals: Signals): [number, number][] {
  const count = signals.documentFrequencies.length;
  const matches = getWordMatches(signals);
  return Array.from(signals.ordinals, (ordinal, row) => [
    ordinal,
    matches.subarray(row * count, (row + 1) * count).reduce((sum, match) => sum + match, 0),
  ]);
}

const sorted = (ordinals: Float64Array) => [...ordinals].sort((a, b) => a - b);

/** Returns the nearest memories with their cosines. */
function nearest({ ordinals, cosines, found }: Signals): Map<number, number> {
  const all = Array.from(ordinals.slice(0, found), (ordinal, row) => [ordinal, cosines[row] as number] as const);
  return new Map(all.sort(([, a], [, b]) => b - a).slice(0, NEAREST));
}

async function fill(storage: Storage): Promise<void> {
  await storage.useModel(MODEL);
  for (let from = 0; from < MEMORIES; from += STORED_AT_ONCE) {
    const stored = await storage.storeMany(ALL_MEMORIES.slice(from, from + STORED_AT_ONCE));
    const made = stored.map((outcome, i) => {
      if (outcome.outcome !== 'stored') throw new Error(outcome.outcome);
      return { ordinal: outcome.ordinal, revision: 1, vectors: VECTORS[from + i] as Float32Array[] };
    });
    await storage.putVectors(MODEL, made);
  }
  await storage.recordAccess(
    ALL_MEMORIES.flatMap(({ namespace }, i) =>
      i % 9 === 0 ? [{ namespace, ordinal: i + 1, count: 1 + (i % 5), at: NOW + DAY_MS }] : [],
    ),
  );
}

describe('search in PostgreSQL, compared with SQLite', () => {
  let server: DatabaseServer;
  let url: string;
  let postgres: Storage;
  let sqlite: Storage;
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-alike-'));

  beforeAll(async () => {
    server = await usePostgres();
    url = await server.create();
    ({ storage: postgres } = await openPostgres({ url, connections: TEST_CONNECTIONS, workingMax: 1000 }));
    ({ storage: sqlite } = await openSqlite({ path: join(folder, 'memory.db'), workingMax: 1000 }));
    await Promise.all([fill(postgres), fill(sqlite)]);
  }, 300_000);
  afterAll(async () => {
    await Promise.all([postgres.close(), sqlite.close()]);
    await server.drop(url);
    await server.close();
    rmSync(folder, { recursive: true });
  });

  const both = (asked: SearchRequest) => Promise.all([postgres.search(asked), sqlite.search(asked)]);

  it('returns the same signals for searches by words alone', async () => {
    const queries = Array.from({ length: 40 }, () => words(1 + below(6)));
    for (const text of [...queries, `${NAMES[1]} ${word()}`, rareWords(100)]) {
      const [ours, theirs] = await both(request({ text }));
      expect(toComparable(ours)).toEqual(toComparable(theirs));
    }
  });

  it('returns nearly the same word matches, including synonyms', async () => {
    let synonyms = 0;
    for (let i = 0; i < 30; i++) {
      const [ours, theirs] = await both(request({ text: `${words(3)} ${rareWords(2)}` }));
      synonyms += theirs.synonyms.length;
      const matches = new Map(getMatches(theirs));
      for (const [ordinal, match] of getMatches(ours)) {
        expect(Math.abs(match - (matches.get(ordinal) as number))).toBeLessThan(0.02);
      }
    }
    expect(synonyms).toBeGreaterThan(100);
  });

  it('returns the same signals with filters and for candidates beyond the pool', async () => {
    for (const filter of FILTERS) {
      for (let i = 0; i < 4; i++) {
        const [ours, theirs] = await both(request({ text: words(3), filter, tailSize: 30 }));
        expect(toComparable(ours)).toEqual(toComparable(theirs));
      }
    }
  });

  it.each([{}, ...FILTERS])(
    'returns nearly the same nearest memories and cosines with the filter %j',
    async (filter) => {
      let [shared, all] = [0, 0];
      for (let i = 0; i < 10; i++) {
        const [ours, theirs] = await both(request({ filter, vector: { modelId: MODEL, values: vector() } }));
        expect(ours.found).toBe(theirs.found);
        const measured = nearest(ours);
        for (const [ordinal, cosine] of nearest(theirs)) {
          all++;
          const ourCosine = measured.get(ordinal);
          if (ourCosine === undefined) continue;
          shared++;
          expect(Math.abs(ourCosine - cosine)).toBeLessThan(0.01);
        }
      }
      expect(shared / all).toBeGreaterThanOrEqual(0.95);
    },
  );

  it('returns the same distillation candidates, with nearly the same neighbors', async () => {
    let [shared, all] = [0, 0];
    const asked = { namespace: 'default', promotedUntil: NOW + DAY_MS, now: NOW, limit: 30 };
    const [ours, theirs] = await Promise.all([postgres.distilCandidates(asked), sqlite.distilCandidates(asked)]);
    expect(ours.next).toBe(theirs.next);
    expect(ours.candidates.map(withoutNeighbors)).toEqual(theirs.candidates.map(withoutNeighbors));
    for (const [place, { neighbors }] of theirs.candidates.entries()) {
      const found = new Map(ours.candidates[place]?.neighbors.map((near) => [near.ordinal, near]));
      for (const near of neighbors.sort((a, b) => b.cosine - a.cosine).slice(0, NEAREST)) {
        all++;
        const ourNear = found.get(near.ordinal);
        if (!ourNear) continue;
        shared++;
        expect({ ...ourNear, cosine: 0 }).toEqual({ ...near, cosine: 0 });
        expect(Math.abs(ourNear.cosine - near.cosine)).toBeLessThan(0.01);
      }
    }
    expect(shared / all).toBeGreaterThanOrEqual(0.95);
  });

  it('returns nearly the same background cosine', async () => {
    const request = { namespace: 'default', owner: { userId: '', agentId: '' }, now: NOW };
    const [ours, theirs] = await Promise.all([postgres.backgroundCosine(request), sqlite.backgroundCosine(request)]);
    expect(Math.abs(ours - theirs)).toBeLessThan(0.01);
    const empty = { ...request, namespace: 'none' };
    expect(await postgres.backgroundCosine(empty)).toBe(await sqlite.backgroundCosine(empty));
  });
});

const withoutNeighbors = ({ neighbors: _, ...candidate }: DistilCandidate) => candidate;
