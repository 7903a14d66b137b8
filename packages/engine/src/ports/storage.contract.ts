import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { rankedOrdinals } from '../core/ranking/rank.ts';
import { english } from '../synonyms/english.ts';
import { type Lease, SLEEP_LEASE } from './lease.ts';
import { newMemory } from './new-memory.fixture.ts';
import type { PageRequest, Position } from './page.ts';
import type { Storage } from './storage.ts';
import type { MemoryFilter, NewMemory } from './storage-memories.ts';
import type { RunRef, SleepRun, StepResult, UndoOutcome } from './storage-runs.ts';
import {
  type Answer,
  NO_ROW,
  NO_SESSION,
  type QueryVector,
  type SearchRequest,
  type Signals,
} from './storage-search.ts';

/** An open database to test, empty at first; `reopen` closes it and opens the same again. */
export interface StorageUnderTest {
  storage: Storage;
  lease: Lease;
  reopen(): Promise<StorageUnderTest>;
  close(): Promise<void>;
}

/** Past three quarters of it, the oldest working memories settle. */
export const WORKING_MAX = 40;

const NOW = Date.UTC(2026, 0, 1);
const MODEL = 'test-model';
const ALL: PageRequest<never> = { limit: 1000, maxBytes: 1_000_000 };

const RED_HERON: SearchRequest = {
  namespace: 'default',
  text: 'red heron',
  filter: {},
  now: NOW + 1e6,
  poolSize: 20,
  tailSize: 0,
};

const BATCH = { limit: 10, maxChars: 10_000, maxCharsAnew: 10_000 };

/** Working memories stored until a time settle; none lies ahead of the clock. */
const oldEnough = (settledUntil: number) => ({ settledUntil, now: NOW * 2 });

let arrivals = 0;

function nextMemory(fields: Partial<NewMemory> = {}): NewMemory {
  arrivals++;
  const at = NOW + arrivals;
  return newMemory({
    id: `memory-${arrivals}`,
    content: `content ${arrivals}`,
    createdAt: at,
    storedAt: at,
    ...fields,
  });
}

/** A unit vector that leans toward one axis. */
function vector(axis: number): Float32Array {
  const values = Float32Array.from({ length: 64 }, (_, i) => (i === axis ? 1 : ((i * 7 + axis) % 5) / 100 - 0.02));
  const length = Math.hypot(...values);
  return values.map((value) => value / length);
}

/** What every adapter of the `Storage` and `Lease` ports does; `open` gives each test a database of its own. */
export function storageContract(open: () => Promise<StorageUnderTest>): void {
  let database: StorageUnderTest;
  let storage: Storage;

  beforeEach(async () => {
    database = await open();
    storage = database.storage;
  });
  // Whatever a test did, what recall uses is what the memories say.
  afterEach(async () => {
    try {
      expect(await storage.integrity()).toEqual([]);
    } finally {
      await database.close();
    }
  });

  async function keep(fields: Partial<NewMemory> = {}): Promise<NewMemory & { ordinal: number }> {
    const memory = nextMemory(fields);
    const stored = await storage.store(memory);
    if (stored.outcome !== 'stored') throw new Error(`not stored: ${stored.outcome}`);
    return { ...memory, ordinal: stored.ordinal };
  }

  async function found(text: string, filter: MemoryFilter = {}, now = NOW + 1e6): Promise<number[]> {
    return admitted(await search(text, filter, now));
  }

  function search(text: string, filter: MemoryFilter = {}, now = NOW + 1e6, values?: Float32Array): Promise<Signals> {
    return storage.search({
      namespace: 'default',
      text,
      ...(values && { vector: { modelId: MODEL, values } }),
      filter,
      now,
      poolSize: 20,
      tailSize: 0,
    });
  }

  function admitted(signals: Signals): number[] {
    return Array.from(signals.ordinals.slice(0, signals.admitted)).sort((a, b) => a - b);
  }

  /** Memories whose speaker a word of the query names. */
  function speaking({ ordinals, speaks, documentFrequencies }: Signals): number[] {
    const words = documentFrequencies.length;
    return Array.from(ordinals).filter((_, row) => speaks.subarray(row * words, (row + 1) * words).includes(1));
  }

  async function giveVector(memory: { ordinal: number }, ...axes: number[]): Promise<void> {
    await storage.putVectors(MODEL, [{ ordinal: memory.ordinal, revision: 1, vectors: axes.map(vector) }]);
  }

  async function counts(now = NOW + 1e6): Promise<number[]> {
    const { working_count, episodic_count, semantic_count } = await storage.stats('default', now);
    return [working_count, episodic_count, semantic_count];
  }

  async function begin(
    fields: { id?: string; at?: number; holder?: string; namespace?: string } = {},
  ): Promise<RunRef> {
    const { at = NOW, holder = 'this process', namespace = 'default' } = fields;
    const fence = await database.lease.acquire(SLEEP_LEASE, holder, at, 1000);
    if (fence === null) throw new Error('another process has the lease');
    const id = fields.id ?? `run-${++arrivals}`;
    return (await storage.beginRun(namespace, { id, startedAt: at, settledUntil: at, fence })).ref;
  }

  // One step of a run of its own.
  async function step(work: (run: RunRef) => Promise<StepResult>): Promise<StepResult> {
    const run = await begin();
    const result = await work(run);
    await storage.endRun(run, NOW);
    return result;
  }
  const settle = (until: number, limit: number) => step((run) => storage.settle(run, oldEnough(until), limit));
  const mergeTwins = (limit: number) => step((run) => storage.mergeTwins(run, limit));
  const evictExpired = (now: number, limit: number) => step((run) => storage.evictExpired(run, now, limit));

  describe('keeping', () => {
    it('gives back every field of a memory byte for byte', async () => {
      const kept = await keep({
        content: '  Zoë’s “naïve” 文字 😀\r\n\ttrailing  ',
        tags: ['b', 'a'],
        importance: 0.25,
        source: 'chat',
        sessionId: 'a/b?c',
        metadata: { nested: { list: [1, null, 'x'] }, flag: true },
        createdAt: 5,
        expiresAt: NOW * 2,
      });
      const memory = await storage.memory('default', kept.id, NOW);
      expect(memory).toMatchObject({
        ordinal: kept.ordinal,
        content: kept.content,
        tags: ['b', 'a'],
        importance: 0.25,
        source: 'chat',
        sessionId: 'a/b?c',
        tier: 'working',
        metadata: kept.metadata,
        createdAt: 5,
        expiresAt: NOW * 2,
        supersedes: null,
        supersededBy: null,
        mergedInto: null,
        accessCount: 0,
        accessedAt: null,
        version: 1,
      });
    });

    it('keeps everything over a restart', async () => {
      const kept = await keep({ content: 'survives the night' });
      database = await database.reopen();
      storage = database.storage;
      expect(await storage.memory('default', kept.id, NOW)).toMatchObject({ content: 'survives the night' });
      expect(await found('night')).toEqual([kept.ordinal]);
      expect(await counts()).toEqual([1, 0, 0]);
    });

    it('keeps many memories that arrive at once, each in its place of arrival', async () => {
      const memories = Array.from({ length: 200 }, () => nextMemory({ sessionId: 'crowd', createdAt: NOW }));
      await Promise.all(memories.map((memory) => storage.store(memory)));
      const { items } = await storage.session('default', 'crowd', ALL, NOW);
      expect(items.map((item) => item.id)).toEqual(memories.map((memory) => memory.id));
    });

    it('stores once for one idempotency key, and refuses it for another request', async () => {
      const idempotency = { key: 'k', digest: 'd' };
      const first = await keep({ idempotency });
      expect(await storage.store(nextMemory({ idempotency }))).toEqual({ outcome: 'repeated', id: first.id });
      expect(await storage.store(nextMemory({ idempotency: { key: 'k', digest: 'other' } }))).toEqual({
        outcome: 'conflict',
      });
      expect(await counts()).toEqual([1, 0, 0]);
    });

    it('stores once when the same request comes many times at once', async () => {
      const idempotency = { key: 'k', digest: 'd' };
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => storage.store(nextMemory({ idempotency }))));
      expect(outcomes.filter(({ outcome }) => outcome === 'stored')).toHaveLength(1);
      expect(outcomes.filter(({ outcome }) => outcome === 'repeated')).toHaveLength(19);
    });

    it('forgets an idempotency key after 24 hours', async () => {
      const idempotency = { key: 'k', digest: 'd' };
      const first = await keep({ idempotency });
      const day = 24 * 60 * 60 * 1000;
      const later = await storage.store(nextMemory({ idempotency, storedAt: first.storedAt + day }));
      expect(later).toMatchObject({ outcome: 'stored' });
    });

    it('refuses to supersede a memory that it does not have', async () => {
      expect(await storage.store(nextMemory({ supersedes: 'nobody' }))).toEqual({ outcome: 'superseded-unknown' });
      expect(await counts()).toEqual([0, 0, 0]);
    });

    it('keeps many in their order, and refuses one without the others', async () => {
      const idempotency = { key: 'k', digest: 'd' };
      const before = await keep({ idempotency });
      const many = [
        nextMemory({ sessionId: 'many' }),
        nextMemory({ sessionId: 'many', supersedes: 'nobody' }),
        nextMemory({ sessionId: 'many', idempotency }),
        nextMemory({ sessionId: 'many', idempotency: { key: 'k', digest: 'other' } }),
        nextMemory({ sessionId: 'many', supersedes: before.id, idempotency: { key: 'another', digest: 'd' } }),
        nextMemory({ sessionId: 'many', idempotency: { key: 'another', digest: 'd' } }),
      ];
      const { ordinal } = before;
      expect(await storage.storeMany(many)).toEqual([
        { outcome: 'stored', ordinal: ordinal + 1 },
        { outcome: 'superseded-unknown' },
        { outcome: 'repeated', id: before.id },
        { outcome: 'conflict' },
        { outcome: 'stored', ordinal: ordinal + 2 },
        { outcome: 'repeated', id: many[4]?.id },
      ]);
      const { items } = await storage.session('default', 'many', ALL, NOW);
      expect(items.map((item) => item.id)).toEqual([many[0]?.id, many[4]?.id]);
      expect((await storage.memory('default', before.id, NOW))?.supersededBy).toBe(many[4]?.id);
      expect(await storage.storeMany([])).toEqual([]);
    });

    it('keeps none of many when one cannot be written', async () => {
      const twice = nextMemory();
      await expect(storage.storeMany([nextMemory(), twice, twice])).rejects.toThrow();
      expect(await counts()).toEqual([0, 0, 0]);
      await keep();
      expect(await counts()).toEqual([1, 0, 0]);
    });

    it('keeps what is stored beside one that cannot be written', async () => {
      const [twice, ...others] = Array.from({ length: 5 }, () => nextMemory());
      const stores = [[twice, twice], ...others.map((memory) => [memory])] as NewMemory[][];
      // The first is being written when the rest come, which are then written together.
      const [first, broken, ...beside] = await Promise.allSettled(
        [[nextMemory()], ...stores].map((memories) => storage.storeMany(memories)),
      );
      expect([first, ...beside].map((settled) => settled?.status)).toEqual(Array(5).fill('fulfilled'));
      expect(broken?.status).toBe('rejected');
      expect(await counts()).toEqual([5, 0, 0]);
    });

    it('lets the oldest of many settle past three quarters of the maximum, in each namespace', async () => {
      const many = Array.from({ length: WORKING_MAX }, () => [nextMemory(), nextMemory({ namespace: 'other' })]);
      await storage.storeMany(many.flat());
      expect(await counts()).toEqual([30, 10, 0]);
      const { working_count, episodic_count } = await storage.stats('other', NOW);
      expect([working_count, episodic_count]).toEqual([30, 10]);
    });

    it('lets the oldest working memories settle past three quarters of the maximum', async () => {
      for (let i = 0; i < WORKING_MAX; i++) await keep();
      expect(await counts()).toEqual([30, 10, 0]);
      expect(
        (await storage.memories('default', { tier: 'episodic' }, ALL, NOW + 1e6)).items.map((m) => m.ordinal),
      ).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    });
  });

  describe('changing', () => {
    it('changes what is given, leaves the rest and counts the version up', async () => {
      const kept = await keep({ content: 'old words', tags: ['a'], importance: 0.1, metadata: { k: 'v' } });
      const at = kept.storedAt + 500;
      await storage.update({ namespace: 'default', id: kept.id, at, importance: 0.9 });
      expect(await storage.memory('default', kept.id, NOW)).toMatchObject({
        content: 'old words',
        tags: ['a'],
        importance: 0.9,
        metadata: { k: 'v' },
        updatedAt: at,
        version: 2,
      });
    });

    it('finds a memory by its new words and tags, and no more by the old', async () => {
      const kept = await keep({ content: 'apples', tags: ['fruit'], metadata: { colour: 'red' } });
      await storage.update({
        namespace: 'default',
        id: kept.id,
        at: NOW,
        content: 'pears',
        tags: ['snack'],
        metadata: { colour: 'green' },
      });
      expect(await found('apples')).toEqual([]);
      expect(await found('pears', { tags: ['snack'], metadata: { colour: 'green' } })).toEqual([kept.ordinal]);
      expect(await found('pears', { tags: ['fruit'] })).toEqual([]);
      expect(await found('pears', { metadata: { colour: 'red' } })).toEqual([]);
    });

    it('sets and clears the time of expiry', async () => {
      const kept = await keep();
      await storage.update({ namespace: 'default', id: kept.id, at: NOW, expiresAt: NOW + 10 });
      expect((await storage.memory('default', kept.id, NOW))?.expiresAt).toBe(NOW + 10);
      await storage.update({ namespace: 'default', id: kept.id, at: NOW, expiresAt: null });
      expect((await storage.memory('default', kept.id, NOW))?.expiresAt).toBeNull();
    });

    it('changes nothing when another writer was first', async () => {
      const kept = await keep({ content: 'mine' });
      const change = { namespace: 'default', id: kept.id, at: NOW, ifVersions: [1] };
      expect(await storage.update({ ...change, content: 'first' })).toMatchObject({ outcome: 'updated' });
      expect(await storage.update({ ...change, content: 'second' })).toEqual({ outcome: 'stale' });
      expect(await storage.forget('default', kept.id, [1])).toEqual({ outcome: 'stale' });
      expect((await storage.memory('default', kept.id, NOW))?.content).toBe('first');
    });

    it('does not know a memory of another namespace, nor one that has expired', async () => {
      const elsewhere = await keep({ namespace: 'other' });
      const expired = await keep({ expiresAt: NOW - 1 });
      for (const { id } of [elsewhere, expired]) {
        expect(await storage.update({ namespace: 'default', id, at: NOW, importance: 1 })).toEqual({
          outcome: 'unknown',
        });
      }
    });
  });

  describe('remembering texts', () => {
    const every = { limit: 100, maxBytes: 1_000_000 };
    const change = (id: string, at: number, content: string) =>
      storage.update({ namespace: 'default', id, at, content });

    it('gives every text of a memory with the times during which it held', async () => {
      const { id, storedAt } = await keep({ content: 'first' });
      await change(id, storedAt + 10, 'second');
      await storage.update({ namespace: 'default', id, at: storedAt + 15, importance: 1 });
      await change(id, storedAt + 20, 'third');
      const history = await storage.history('default', id, every, NOW + 1e6);
      expect(history?.items).toMatchObject([
        { content: 'first', heldFrom: storedAt, heldUntil: storedAt + 10 },
        { content: 'second', heldFrom: storedAt + 10, heldUntil: storedAt + 20 },
        { content: 'third', heldFrom: storedAt + 20, heldUntil: null },
      ]);
      expect([history?.total, history?.next]).toEqual([3, undefined]);
      const revisions = history?.items.map(({ revision }) => revision) ?? [];
      expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b));
    });

    it('gives them page by page, each once, and never a page without one', async () => {
      const { id, storedAt } = await keep({ content: 'text 0' });
      for (const n of [1, 2, 3, 4]) await change(id, storedAt + n, `text ${n}`);
      const whole = (await storage.history('default', id, every, NOW + 1e6))?.items;
      for (const size of [
        { limit: 2, maxBytes: 1_000_000 },
        { limit: 100, maxBytes: 1 },
      ]) {
        const pages: unknown[] = [];
        for (let after: number | undefined = 0; after !== undefined; ) {
          const page = await storage.history('default', id, { ...size, after }, NOW + 1e6);
          expect(page?.total).toBe(5);
          pages.push(...(page?.items ?? []));
          after = page?.next;
        }
        expect(pages).toEqual(whole);
      }
    });

    it('lets no text end before it began, though the clock was set back', async () => {
      const { id, storedAt } = await keep({ content: 'first' });
      for (const [at, content] of [
        [storedAt - 5, 'second'],
        [storedAt + 5, 'third'],
        [storedAt + 3, 'fourth'],
      ] as const) {
        await change(id, at, content);
      }
      const held = (await storage.history('default', id, every, NOW + 1e6))?.items.map((text) => [
        text.heldFrom - storedAt,
        text.heldUntil && text.heldUntil - storedAt,
      ]);
      expect(held).toEqual([
        [0, 0],
        [0, 5],
        [5, 5],
        [5, null],
      ]);
      expect((await storage.memory('default', id, NOW + 1e6))?.updatedAt).toBe(storedAt + 5);
    });

    it('gives the text of a time', async () => {
      const { id, storedAt } = await keep({ content: 'first' });
      await change(id, storedAt + 10, 'second');
      const textAt = async (at: number) => (await storage.textAt('default', id, at, NOW + 1e6))?.content;
      expect(await textAt(storedAt - 1)).toBeUndefined();
      expect(await textAt(storedAt)).toBe('first');
      expect(await textAt(storedAt + 9)).toBe('first');
      expect(await textAt(storedAt + 10)).toBe('second');
      expect(await textAt(NOW * 2)).toBe('second');
      expect(await storage.textAt('default', id, storedAt + 10, NOW + 1e6)).toMatchObject({ heldFrom: storedAt + 10 });
    });

    it('knows no texts of what is unknown, elsewhere, expired, evicted or forgotten', async () => {
      const expired = await keep({ expiresAt: NOW + 5 });
      const evicted = await keep();
      await storage.evictExcess(await begin(), 'working', [evicted.ordinal], NOW);
      const forgotten = await keep();
      await change(forgotten.id, NOW, 'other');
      await storage.forget('default', forgotten.id);
      const elsewhere = await keep({ namespace: 'other' });
      for (const id of ['unknown', expired.id, evicted.id, forgotten.id, elsewhere.id]) {
        expect(await storage.history('default', id, every, NOW + 1e6), id).toBeUndefined();
        expect(await storage.textAt('default', id, NOW * 2, NOW + 1e6), id).toBeUndefined();
      }
    });

    it('keeps the texts of a merged twin apart from those of the memory that it was merged into', async () => {
      const survivor = await keep({ content: 'same' });
      const twin = await keep({ content: 'other' });
      await change(twin.id, twin.storedAt + 1, 'same');
      await storage.mergeTwins(await begin(), 10);
      const texts = async (id: string) =>
        (await storage.history('default', id, every, NOW + 1e6))?.items.map(({ content }) => content);
      expect(await texts(survivor.id)).toEqual(['same']);
      expect(await texts(twin.id)).toEqual(['other', 'same']);
    });
  });

  describe('forgetting', () => {
    it('leaves no way to a forgotten memory', async () => {
      const kept = await keep({ content: 'unmistakable', tags: ['t'], sessionId: 's' });
      await storage.useModel(MODEL);
      await giveVector(kept, 3);
      expect(await storage.forget('default', kept.id)).toEqual({
        outcome: 'forgotten',
        ordinals: [kept.ordinal],
        alsoForgotten: [],
        embedding: false,
        purged: expect.any(Boolean),
      });
      expect(await storage.memory('default', kept.id, NOW)).toBeUndefined();
      expect(admitted(await search('unmistakable', {}, NOW, vector(3)))).toEqual([]);
      expect((await storage.session('default', 's', ALL, NOW)).total).toBe(0);
      expect(await storage.read('default', [kept.ordinal], NOW, 1e6)).toEqual({ memories: [], truncated: false });
      expect(await counts()).toEqual([0, 0, 0]);
      expect(await storage.forget('default', kept.id)).toEqual({ outcome: 'unknown' });
    });

    it('forgets what has expired too', async () => {
      const kept = await keep({ expiresAt: NOW - 1 });
      await evictExpired(NOW, 10);
      expect(await storage.forget('default', kept.id)).toMatchObject({ outcome: 'forgotten' });
    });

    it('does not give an ordinal a second time', async () => {
      const last = await keep();
      await storage.forget('default', last.id);
      expect((await keep()).ordinal).toBeGreaterThan(last.ordinal);
    });

    it('forgets all that every given condition selects, and nothing else', async () => {
      const fields = { sessionId: 's', tags: ['t'], source: 'import', createdAt: NOW };
      await keep(fields);
      await keep({ ...fields, tags: ['t', 'u'] });
      const spared = [
        await keep({ ...fields, sessionId: 'other' }),
        await keep({ ...fields, tags: [] }),
        await keep({ ...fields, source: 'api' }),
        await keep({ ...fields, createdAt: NOW + 1 }),
        await keep({ ...fields, namespace: 'other' }),
      ];
      const selection = { sessionId: 's', tag: 't', source: 'import', createdBefore: NOW + 1 };
      expect(await storage.forgetMany('default', selection)).toEqual({
        count: 2,
        embedding: false,
        purged: expect.any(Boolean),
      });
      for (const { namespace, id } of spared) expect(await storage.memory(namespace, id, NOW)).toBeDefined();
      expect(await storage.forgetMany('default', selection)).toEqual({
        count: 0,
        embedding: false,
        purged: expect.any(Boolean),
      });
    });

    it('gives a memory back its standing when the one that superseded it is forgotten', async () => {
      const old = await keep();
      const newer = await keep({ supersedes: old.id });
      expect((await storage.memory('default', old.id, NOW))?.supersededBy).toBe(newer.id);
      await storage.forget('default', newer.id);
      expect((await storage.memory('default', old.id, NOW))?.supersededBy).toBeNull();
    });

    it('lets what superseded a forgotten memory supersede what that superseded', async () => {
      const oldest = await keep();
      const middle = await keep({ supersedes: oldest.id });
      const newest = await keep({ supersedes: middle.id });
      await storage.forget('default', middle.id);
      expect(await storage.memory('default', oldest.id, NOW)).toMatchObject({ supersededBy: newest.id });
      expect(await storage.memory('default', newest.id, NOW)).toMatchObject({ supersedes: oldest.id });
    });

    it('lets what superseded many forgotten memories supersede what is left', async () => {
      const oldest = await keep();
      const first = await keep({ sessionId: 'gone', supersedes: oldest.id });
      const second = await keep({ sessionId: 'gone', supersedes: first.id });
      const newest = await keep({ supersedes: second.id });
      await storage.forgetMany('default', { sessionId: 'gone' });
      expect(await storage.memory('default', oldest.id, NOW)).toMatchObject({ supersededBy: newest.id });
      expect(await storage.memory('default', newest.id, NOW)).toMatchObject({ supersedes: oldest.id });
    });

    it('takes the name of a forgotten memory from the one that superseded it', async () => {
      const old = await keep();
      const newer = await keep({ supersedes: old.id });
      await storage.forget('default', old.id);
      expect((await storage.memory('default', newer.id, NOW))?.supersedes).toBeNull();
    });
  });

  describe('listing', () => {
    it('lists newest first, page by page, each memory once', async () => {
      const kept = [];
      for (let i = 0; i < 7; i++) kept.push(await keep({ createdAt: NOW + Math.floor(i / 2) }));
      const seen: number[] = [];
      let after: Position | undefined;
      do {
        const page = await storage.memories('default', {}, { ...ALL, limit: 3, ...(after && { after }) }, NOW + 1e6);
        expect(page.total).toBe(7);
        seen.push(...page.items.map((item) => item.ordinal));
        after = page.next;
      } while (after);
      expect(seen).toEqual(kept.map((memory) => memory.ordinal).reverse());
    });

    it('tells a session oldest first by creation, then by arrival', async () => {
      const third = await keep({ sessionId: 's', createdAt: NOW + 2 });
      const first = await keep({ sessionId: 's', createdAt: NOW });
      const second = await keep({ sessionId: 's', createdAt: NOW });
      const page = await storage.session('default', 's', { ...ALL, limit: 2 }, NOW);
      expect(page.items.map((item) => item.id)).toEqual([first.id, second.id]);
      const rest = await storage.session('default', 's', { ...ALL, after: page.next as Position }, NOW);
      expect(rest.items.map((item) => item.id)).toEqual([third.id]);
      expect(rest.total).toBe(3);
    });

    it('ends a page early when its JSON would be too large, but never without an item', async () => {
      for (let i = 0; i < 3; i++) await keep({ sessionId: 's', content: '\u0001'.repeat(2000) });
      const small = await storage.session('default', 's', { limit: 10, maxBytes: 30_000 }, NOW);
      expect(small.items).toHaveLength(2);
      const tiny = await storage.session('default', 's', { limit: 10, maxBytes: 1 }, NOW);
      expect(tiny.items).toHaveLength(1);
      expect(tiny.next).toBeDefined();
    });

    it('takes no room in transcripts and recall for metadata, which they do not tell', async () => {
      const metadata = { note: 'x'.repeat(10_000) };
      for (let i = 0; i < 3; i++) await keep({ sessionId: 's', content: `fact ${i}`, metadata });
      expect((await storage.session('default', 's', { limit: 10, maxBytes: 10_000 }, NOW)).items).toHaveLength(3);
      expect((await storage.memories('default', {}, { limit: 10, maxBytes: 10_000 }, NOW + 1e6)).items).toHaveLength(1);
      const ordinals = (await storage.memories('default', {}, ALL, NOW + 1e6)).items.map(({ ordinal }) => ordinal);
      expect((await storage.read('default', ordinals, NOW, 10_000)).truncated).toBe(false);
    });

    it('tells in a transcript what a maximum has evicted, until it is erased', async () => {
      const kept = await keep({ sessionId: 's' });
      const run = await begin();
      await storage.evictExcess(run, 'working', [kept.ordinal], NOW);
      expect((await storage.session('default', 's', ALL, NOW)).items.map(({ id }) => id)).toEqual([kept.id]);
      await storage.clearArchive(run, NOW, 10);
      expect((await storage.session('default', 's', ALL, NOW)).total).toBe(0);
    });

    it('lists sessions by their ids with what they hold', async () => {
      await keep({ sessionId: 'b', createdAt: NOW });
      await keep({ sessionId: 'b', createdAt: NOW + 9 });
      await keep({ sessionId: 'a', createdAt: NOW + 5, tags: ['t'] });
      const first = await storage.sessions('default', {}, { ...ALL, limit: 1 }, NOW);
      expect(first).toEqual({
        items: [{ sessionId: 'a', total: 1, firstAt: NOW + 5, lastAt: NOW + 5 }],
        total: 2,
        next: 'a',
      });
      const second = await storage.sessions('default', {}, { ...ALL, limit: 1, after: 'a' }, NOW);
      expect(second.items).toEqual([{ sessionId: 'b', total: 2, firstAt: NOW, lastAt: NOW + 9 }]);
      expect(second.next).toBeUndefined();
      const tagged = await storage.sessions('default', { tags: ['t'] }, ALL, NOW);
      expect(tagged.items.map((item) => item.sessionId)).toEqual(['a']);
    });

    it.each<[string, MemoryFilter]>([
      ['a tag', { tags: ['x'] }],
      ['several tags', { tags: ['x', 'y'] }],
      ['a session', { sessionId: 'mine' }],
      ['a source', { source: 'mail' }],
      ['a first time', { since: NOW + 100 }],
      ['a last time', { until: NOW - 100 }],
      ['a text in the metadata', { metadata: { project: 'apollo' } }],
      ['a number in the metadata', { metadata: { year: '1969' } }],
      ['a truth value in the metadata', { metadata: { done: 'true' } }],
    ])('filters lists and searches alike by %s', async (_name, filter) => {
      const passes = await keep({
        content: 'moon landing',
        tags: ['x', 'y'],
        sessionId: 'mine',
        source: 'mail',
        createdAt: filter.until === undefined ? NOW + 100 : NOW - 100,
        metadata: { project: 'apollo', year: 1969, done: true },
      });
      await keep({ content: 'moon landing', createdAt: NOW, metadata: { project: 'soyuz', year: 19, done: false } });
      const { items, total } = await storage.memories('default', filter, ALL, NOW + 1e6);
      expect(items.map((item) => item.ordinal)).toEqual([passes.ordinal]);
      expect(total).toBe(1);
      expect(await found('moon landing', filter)).toEqual([passes.ordinal]);
    });

    it('passes by as many tags and fields as a request may name', async () => {
      const tags = Array.from({ length: 64 }, (_, i) => `tag ${i}`);
      const metadata = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`field ${i}`, `${i}`]));
      const passes = await keep({ content: 'owl', tags, metadata });
      await keep({ content: 'owl', tags: tags.slice(1), metadata });
      await keep({ content: 'owl', tags, metadata: { ...metadata, 'field 15': 'other' } });
      const filter = { tags, metadata };
      expect((await storage.memories('default', filter, ALL, NOW + 1e6)).items.map(({ id }) => id)).toEqual([
        passes.id,
      ]);
      expect((await storage.sessions('default', filter, ALL, NOW + 1e6)).items).toMatchObject([{ total: 1 }]);
      expect(await found('owl', filter)).toEqual([passes.ordinal]);
    });

    it('shows a namespace only itself', async () => {
      await keep({ namespace: 'other', content: 'secret', sessionId: 's' });
      expect(await found('secret')).toEqual([]);
      expect((await storage.memories('default', {}, ALL, NOW)).total).toBe(0);
      expect((await storage.sessions('default', {}, ALL, NOW)).total).toBe(0);
      expect((await storage.session('default', 's', ALL, NOW)).total).toBe(0);
      expect(await storage.namespaces()).toEqual(['other']);
    });

    it('hides a memory everywhere from the moment it expires', async () => {
      const kept = await keep({ content: 'fleeting', sessionId: 's', expiresAt: NOW + 1000 });
      const before = NOW + 999;
      const from = NOW + 1000;
      expect(await found('fleeting', {}, before)).toEqual([kept.ordinal]);
      expect(await found('fleeting', {}, from)).toEqual([]);
      expect(await storage.memory('default', kept.id, from)).toBeUndefined();
      expect((await storage.memories('default', {}, ALL, from)).total).toBe(0);
      expect((await storage.session('default', 's', ALL, from)).total).toBe(0);
      expect(await counts(before)).toEqual([1, 0, 0]);
      expect(await counts(from)).toEqual([0, 0, 0]);
    });
  });

  describe('searching', () => {
    it('finds by any word of the query and says how often each occurs', async () => {
      const both = await keep({ content: 'red fox, red fox' });
      const one = await keep({ content: 'a red house' });
      await keep({ content: 'something else' });
      const signals = await search('fox red');
      expect(admitted(signals)).toEqual([both.ordinal, one.ordinal]);
      expect(signals.memoryCount).toBe(3);
      expect([...signals.documentFrequencies].sort()).toEqual([1, 2]);
      const row = signals.ordinals.indexOf(both.ordinal);
      const terms = signals.documentFrequencies.length;
      expect([...signals.frequencies.slice(row * terms, (row + 1) * terms)]).toEqual([2, 2]);
      expect(signals.lengths[row]).toBe(4);
    });

    it('finds by a word among hundreds that no memory holds', async () => {
      const memory = await keep({ content: 'red fox' });
      const unknown = Array.from({ length: 300 }, (_, i) =>
        `q${i}`.replace(/\d/g, (digit) => 'abcdefghij'.charAt(Number(digit))),
      );
      expect(await found([...unknown, 'fox'].join(' '))).toEqual([memory.ordinal]);
    });

    it.each([
      '"',
      '*',
      'NEAR(a b)',
      'AND OR NOT',
      'col:x',
      '-x',
      '^y',
      "'",
      '(',
      '{a b}',
      '\\',
      '%',
      '',
      '😀',
      '数',
      'C++',
    ])('takes %j as text, never as syntax', async (text) => {
      await keep({ content: `before ${text} after` });
      await expect(search(text)).resolves.toBeDefined();
    });

    it('finds scripts without spaces and signs', async () => {
      const chinese = await keep({ content: '我们明天去东京旅行' });
      const smile = await keep({ content: 'done 🎉' });
      expect(await found('东京')).toEqual([chinese.ordinal]);
      expect(await found('🎉')).toEqual([smile.ordinal]);
    });

    it('gives the neighbours of what it found in their session', async () => {
      const before = await keep({ sessionId: 's', content: 'zero' });
      const middle = await keep({ sessionId: 's', content: 'needle' });
      const after = await keep({ sessionId: 's', content: 'two' });
      await keep({ sessionId: 'other', content: 'three' });
      const signals = await search('needle');
      expect(signals.admitted).toBe(1);
      expect(signals.ordinals[0]).toBe(middle.ordinal);
      expect(signals.ordinals[signals.previous[0] as number]).toBe(before.ordinal);
      expect(signals.ordinals[signals.next[0] as number]).toBe(after.ordinal);
    });

    it('gives the neighbours of what it found among what was given no session and names who speaks', async () => {
      const before = await keep({ content: 'Ann: before' });
      await keep({ content: 'nobody says this' });
      await keep({ content: 'Ben: in a session', sessionId: 's' });
      const found = await keep({ content: 'needle', tags: ['role:user'] });
      const after = await keep({ content: 'Ann: after' });
      const unsaid = await keep({ content: 'needles' });
      const signals = await search('needle');
      const { previous, next } = signals;
      const rowOf = (memory: { ordinal: number }) => signals.ordinals.indexOf(memory.ordinal);
      expect(admitted(signals)).toEqual([found.ordinal, unsaid.ordinal]);
      expect([previous[rowOf(found)], next[rowOf(found)]]).toEqual([rowOf(before), rowOf(after)]);
      expect([previous[rowOf(unsaid)], next[rowOf(unsaid)]]).toEqual([NO_ROW, NO_ROW]);
      expect(new Set([found, before, unsaid].map((memory) => signals.sessions[rowOf(memory)]))).toEqual(
        new Set([NO_SESSION]),
      );
    });

    it('admits a neighbour that has to do with the query itself, and passes the filter', async () => {
      const request = { namespace: 'default', text: 'common rare', now: NOW + 1e6, poolSize: 1, tailSize: 0 };
      const best = await keep({ sessionId: 's', content: 'common rare' });
      const beside = await keep({ sessionId: 's', content: 'common', tags: ['t'] });
      await keep({ sessionId: 's', content: 'nothing of it' });
      await keep({ sessionId: 'other', content: 'common' });
      expect(admitted(await storage.search({ ...request, filter: {} }))).toEqual([best.ordinal, beside.ordinal]);
      expect(admitted(await storage.search({ ...request, filter: { until: best.createdAt } }))).toEqual([best.ordinal]);
    });

    it('admits what supersedes a memory with it, and names it', async () => {
      const old = await keep({ content: 'the office is in Berlin' });
      const newer = await keep({ content: 'we moved to Hamburg', supersedes: old.id });
      const signals = await search('Berlin');
      expect(admitted(signals)).toEqual([old.ordinal, newer.ordinal]);
      const row = signals.ordinals.indexOf(old.ordinal);
      expect(signals.ordinals[signals.supersededBy[row] as number]).toBe(newer.ordinal);
    });

    it('names the terms too that no memory holds', async () => {
      await keep({ content: 'red' });
      expect((await search('red unicorn')).documentFrequencies.toSorted()).toEqual([0, 1]);
    });

    it('does not bring back a correction that has expired, evicted or not', async () => {
      const old = await keep({ content: 'the office is in Berlin' });
      const newer = await keep({ content: 'the office is in Hamburg', supersedes: old.id, expiresAt: NOW });
      const supersededBy = async (now: number) =>
        (await storage.read('default', [old.ordinal], now, 1e6)).memories.map((memory) => memory.supersededBy);
      expect(await supersededBy(NOW - 1)).toEqual([newer.id]);
      for (let times = 0; times < 2; times++) {
        expect(await found('Berlin', {}, NOW)).toEqual([old.ordinal]);
        expect(await supersededBy(NOW)).toEqual([null]);
        await evictExpired(NOW, 10);
      }
    });

    it('reads only what is live', async () => {
      const expired = await keep({ expiresAt: NOW });
      const [first, twin] = [await keep({ content: 'x' }), await keep({ content: 'x' })];
      await mergeTwins(10);
      const ordinals = [expired.ordinal, first.ordinal, twin.ordinal];
      expect((await storage.read('default', ordinals, NOW, 1e6)).memories.map((m) => m.ordinal)).toEqual([
        first.ordinal,
      ]);
    });

    it('says which memories have the same text that it admits', async () => {
      const same = [await keep({ content: 'a heron waits', sessionId: 'a' })];
      const other = await keep({ content: 'the heron sleeps', sessionId: 'b' });
      same.push(await keep({ content: 'a heron waits', sessionId: 'c' }));
      const sameText = async (values?: Float32Array) => {
        const { ordinals, texts, admitted } = await search('heron', {}, undefined, values);
        expect([admitted, texts.length]).toEqual([3 + later.length, 3 + later.length]);
        const textOf = (memory: { ordinal: number }) => texts[ordinals.indexOf(memory.ordinal)];
        return same
          .map(textOf)
          .every((text) => text === textOf(same[0] as { ordinal: number }) && text !== textOf(other));
      };
      const later: unknown[] = [];
      expect(await sameText()).toBe(true);
      for (const memory of [...same, other]) await giveVector(memory, 3);
      expect(await sameText()).toBe(true);
      expect(await sameText(vector(3))).toBe(true);
      expect(await sameText(vector(4))).toBe(true);
      const waiting = await keep({ content: 'a heron waits', sessionId: 'd' });
      later.push(waiting);
      same.push(waiting);
      expect(await sameText(vector(3))).toBe(true);
      await storage.update({ namespace: 'default', id: waiting.id, at: NOW + 10, content: 'a heron wades' });
      same.pop();
      expect(await sameText()).toBe(true);
      same.push(waiting);
      expect(await sameText()).toBe(false);
    });

    it('says how far each memory is retained that it admits', async () => {
      const now = NOW + 20 * 86_400_000;
      const plain = await keep({ content: 'a heron' });
      const important = await keep({ content: 'a heron', importance: 1 });
      const used = await keep({ content: 'a heron' });
      await storage.recordAccess([{ namespace: 'default', ordinal: used.ordinal, count: 3, at: now }]);
      await keep({ content: 'beside it', sessionId: 's' });
      await keep({ content: 'a heron', sessionId: 's' });
      const retained = async (memory: { ordinal: number }) => {
        const { ordinals, retentions, admitted } = await search('heron', {}, now);
        expect([admitted, retentions.length]).toEqual([4, 4]);
        return retentions[ordinals.indexOf(memory.ordinal)] as number;
      };
      expect(await retained(plain)).toBeGreaterThan(0.5);
      expect(await retained(important)).toBeGreaterThan(await retained(plain));
      expect(await retained(used)).toBeGreaterThan(await retained(important));
      expect(await retained(used)).toBeLessThanOrEqual(1);
      await storage.update({ namespace: 'default', id: important.id, at: now, importance: 0 });
      expect(await retained(important)).toBeLessThan(await retained(plain));
    });

    it('tells how often synonyms occur in what was found, and finds nothing by them', async () => {
      const both = await keep({ content: 'the doctor: a physician, physicians, a medic' });
      const one = await keep({ content: 'a doctor' });
      await keep({ content: 'a physician' });
      const signals = await search('harbour doctor');
      expect(admitted(signals)).toEqual([both.ordinal, one.ordinal]);
      const word = signals.documentFrequencies.indexOf(2);
      expect(signals.synonyms).toEqual([
        { word, weight: expect.closeTo(0.22, 1) },
        { word, weight: expect.closeTo(0.18, 1) },
      ]);
      const frequencies = [both, one].map(({ ordinal }) => {
        const row = signals.ordinals.indexOf(ordinal);
        return [...signals.synonymFrequencies.slice(row * 2, row * 2 + 2)];
      });
      expect(frequencies).toEqual([
        [2, 1],
        [0, 0],
      ]);
      expect(signals.synonymFrequencies).toHaveLength(signals.ordinals.length * 2);
    });

    it('admits no neighbour for a synonym alone, and tells of it there', async () => {
      await keep({ sessionId: 's', content: 'a physician' });
      const found = await keep({ sessionId: 's', content: 'a doctor' });
      const signals = await search('doctor');
      expect(admitted(signals)).toEqual([found.ordinal]);
      expect([...signals.synonymFrequencies]).toEqual([0, 1]);
    });

    it('tells of more synonyms than the words that a question may have', async () => {
      const asked = [
        'doctor',
        'guitar',
        'kitchen',
        'holiday',
        'budget',
        'lawyer',
        'swim',
        'dinner',
        'flower',
        'salary',
        'river',
      ];
      const synonyms = asked.flatMap((word) => english.synonymsOf(word).map(({ term }) => term));
      await keep({ content: `a doctor, ${synonyms.join(' and the ')}` });
      const signals = await search(`what is the ${asked.join(' and the ')}`);
      expect(signals.synonyms.length).toBeGreaterThan(64);
      expect(signals.synonyms.length).toBeLessThanOrEqual(128);
      expect(signals.synonymFrequencies).toHaveLength(signals.synonyms.length);
      expect(Math.min(...signals.synonymFrequencies)).toBeGreaterThan(0);
    });

    it('takes synonyms that the namespace holds alone', async () => {
      await keep({ content: 'a doctor' });
      await keep({ content: 'a physician', namespace: 'other' });
      expect((await search('doctor')).synonyms).toEqual([]);
    });

    it.each([
      ['what did Grace say of walnuts', 'grace'],
      ['what did you say of walnuts', 'assistant'],
    ])('tells who speaks that a query names, or addresses: %s', async (query, named) => {
      const ordinals = new Map<number, string>();
      for (const name of ['grace', 'user', 'assistant']) {
        ordinals.set((await keep({ sessionId: 's', content: `${name}: walnuts` })).ordinal, `${name} in the text`);
        const tags = ['nuts', `role:${name}`];
        ordinals.set((await keep({ sessionId: 's', content: 'walnuts', tags })).ordinal, `${name} in a tag`);
      }
      const names = speaking(await search(query)).map((ordinal) => ordinals.get(ordinal));
      expect(names.toSorted()).toEqual([`${named} in a tag`, `${named} in the text`]);
    });

    it('tells another speaker as soon as a tag names another', async () => {
      const { id, ordinal } = await keep({ sessionId: 's', content: 'walnuts', tags: ['role:Grace'] });
      const heard = async () => speaking(await search('what did Grace say of walnuts'));
      expect(await heard()).toEqual([ordinal]);
      await storage.update({ namespace: 'default', id, at: NOW + 1, tags: ['role:Ann'] });
      expect(await heard()).toEqual([]);
      await storage.update({ namespace: 'default', id, at: NOW + 2, content: 'two walnuts', tags: ['role:Grace'] });
      expect(await heard()).toEqual([ordinal]);
    });

    it('finds what is of the date that a query asks about, whatever it says', async () => {
      await keep({ content: 'walnuts', createdAt: NOW - 1 });
      const kept = [
        await keep({ content: 'almonds', createdAt: NOW }),
        await keep({ content: 'cashews', createdAt: NOW + 9, tags: ['t'] }),
      ];
      await keep({ content: 'pecans', createdAt: NOW + 10 });
      await keep({ content: 'chestnuts', createdAt: NOW, namespace: 'other' });
      const expired = await keep({ content: 'hazelnuts', createdAt: NOW, expiresAt: NOW + 10 });
      const ask = (filter: MemoryFilter, poolSize = 20, text = 'What happened on 7 May?') => {
        const date = { from: NOW, until: NOW + 10, text: 'on 7 May' };
        const now = (expired.expiresAt as number) + 1;
        return storage.search({ namespace: 'default', text, date, filter, now, poolSize, tailSize: 0 });
      };
      const signals = await ask({});
      expect(admitted(signals)).toEqual(kept.map(({ ordinal }) => ordinal));
      expect([...signals.dated]).toEqual([0, 1]);
      expect(admitted(await ask({ tags: ['t'] }))).toEqual([kept[1]?.ordinal]);
      expect(admitted(await ask({}, 1))).toEqual([kept[1]?.ordinal]);
      expect(admitted(await ask({}, 1, 'almonds on 7 May?'))).toEqual([kept[0]?.ordinal]);
      expect(admitted(await ask({}, 20, 'What happened in May?'))).toEqual(kept.map(({ ordinal }) => ordinal));
    });

    it('takes no synonyms of a query in another language', async () => {
      await keep({ content: 'a gift, a present, a souvenir' });
      expect((await search('gift')).synonyms).not.toEqual([]);
      expect((await search('Wo ist das Gift von der Mutter?')).synonyms).toEqual([]);
    });

    it('counts frequencies in the namespace alone', async () => {
      await keep({ content: 'shared' });
      await keep({ content: 'shared', namespace: 'other' });
      expect((await search('shared')).documentFrequencies).toEqual([1]);
    });

    it('admits more than the pool only as its tail', async () => {
      for (let i = 0; i < 30; i++) await keep({ content: 'common', sessionId: `s${i}` });
      const request = { namespace: 'default', text: 'common', filter: {}, now: NOW + 1e6, poolSize: 10 };
      const short = await storage.search({ ...request, tailSize: 0 });
      const long = await storage.search({ ...request, tailSize: 15 });
      expect([short.pool, short.admitted]).toEqual([10, 10]);
      expect([long.pool, long.admitted]).toEqual([10, 25]);
      expect(long.ordinals.slice(0, 10)).toEqual(short.ordinals.slice(0, 10));
    });

    it('reads in the order asked for, up to a size', async () => {
      const a = await keep({ content: 'a'.repeat(1000) });
      const b = await keep({ content: 'b'.repeat(1000) });
      const both = await storage.read('default', [b.ordinal, 999_999, a.ordinal], NOW, 100_000);
      expect(both.memories.map((memory) => memory.ordinal)).toEqual([b.ordinal, a.ordinal]);
      expect(both.truncated).toBe(false);
      const one = await storage.read('default', [b.ordinal, a.ordinal], NOW, 2500);
      expect(one.memories.map((memory) => memory.ordinal)).toEqual([b.ordinal]);
      expect(one.truncated).toBe(true);
      expect((await storage.read('other', [a.ordinal], NOW, 100_000)).memories).toEqual([]);
    });

    it('answers with the texts of what ranks best of what a search finds, up to a size', async () => {
      for (let i = 0; i < 12; i++) {
        await keep({ content: `red ${'heron '.repeat(i)}`, sessionId: `s${i % 4}` });
        await keep({ content: `blue ${i}`, sessionId: `s${i % 4}` });
      }
      const ranking = { limit: 5, minScore: 0.1, intent: {} };
      const ranked = [...rankedOrdinals(await storage.search(RED_HERON), ranking)];
      const { answers, truncated, stagesMs } = await storage.answer({ ...RED_HERON, ranking, maxBytes: 100_000 });
      expect(answers.map((answer) => [answer.memory.ordinal, answer.ranked])).toEqual(ranked);
      expect(ranked).toHaveLength(5);
      expect(answers[0]?.memory.content).toContain('heron');
      expect([truncated, Object.keys(stagesMs)]).toEqual([false, ['words', 'vectors', 'fuse', 'read']]);
      const short = await storage.answer({ ...RED_HERON, ranking, maxBytes: 1 });
      expect(short.answers.map(({ memory }) => memory.ordinal)).toEqual([ranked[0]?.[0]]);
      expect(short.truncated).toBe(true);
    });

    it('tells the memories that part two passages, if they are no more than two', async () => {
      const texts = ['heron', 'one', 'two', 'three', 'four', 'heron', 'five', 'six', 'seven', 'eight', 'nine', 'heron'];
      const kept: number[] = [];
      for (const content of texts) kept.push((await keep({ content, sessionId: 's' })).ordinal);
      const { ordinals, previous, next } = await search('heron');
      expect([...ordinals].sort((a, b) => a - b)).toEqual(kept.filter((_, i) => i < 7 || i > 9));
      const linked = (from: number, step: Int32Array) =>
        ordinals[step[ordinals.indexOf(kept[from] as number)] as number];
      expect([linked(2, next), linked(3, previous)]).toEqual([kept[3], kept[2]]);
      expect([linked(6, next), linked(10, previous)]).toEqual([undefined, undefined]);
    });

    it('counts accesses', async () => {
      const kept = await keep();
      await storage.recordAccess([{ namespace: 'default', ordinal: kept.ordinal, count: 2, at: NOW }]);
      await storage.recordAccess([
        { namespace: 'default', ordinal: kept.ordinal, count: 1, at: NOW + 7 },
        { namespace: 'default', ordinal: 999_999, count: 1, at: NOW },
      ]);
      expect(await storage.memory('default', kept.id, NOW)).toMatchObject({
        accessCount: 3,
        accessedAt: NOW + 7,
        version: 1,
      });
    });

    it('counts accesses in thousands of namespaces at once', async () => {
      const kept = await keep();
      const elsewhere = Array.from({ length: 4000 }, (_, i) => ({
        namespace: `namespace-${i}`,
        ordinal: 999_999,
        count: 1,
        at: NOW,
      }));
      await storage.recordAccess([...elsewhere, { namespace: 'default', ordinal: kept.ordinal, count: 2, at: NOW }]);
      expect(await storage.memory('default', kept.id, NOW)).toMatchObject({ accessCount: 2 });
    });
  });

  it('names no model before one is used', async () => {
    await keep();
    expect((await storage.stats('default', NOW)).embedding).toBeNull();
    await storage.useModel(MODEL);
    expect((await storage.stats('default', NOW)).embedding).toEqual({ modelId: MODEL, embedded: 0, total: 1 });
  });

  describe('vectors', () => {
    beforeEach(async () => {
      await storage.useModel(MODEL);
    });

    it('finds the nearest, and says how near', async () => {
      const kept = [];
      for (let i = 0; i < 30; i++) {
        kept.push(await keep());
        await giveVector(kept[i] as { ordinal: number }, i);
      }
      const signals = await search('', {}, NOW + 1e6, vector(7));
      const row = signals.ordinals.indexOf((kept[7] as { ordinal: number }).ordinal);
      expect(row).toBeGreaterThanOrEqual(0);
      expect(signals.cosines[row]).toBeCloseTo(1, 2);
      expect(Math.max(...signals.cosines.slice(0, signals.admitted))).toBe(signals.cosines[row]);
    });

    it('takes the best of a memory’s parts', async () => {
      const kept = await keep();
      await giveVector(kept, 1, 2, 3);
      const signals = await search('', {}, NOW + 1e6, vector(3));
      expect(admitted(signals)).toEqual([kept.ordinal]);
      expect(signals.cosines[0]).toBeCloseTo(1, 2);
    });

    it('filters before the nearest are taken', async () => {
      const far = await keep({ tags: ['mine'] });
      await giveVector(far, 40);
      for (let i = 0; i < 60; i++) await giveVector(await keep(), 5);
      expect(admitted(await search('', { tags: ['mine'] }, NOW + 1e6, vector(5)))).toEqual([far.ordinal]);
    });

    it('lets memories wait in order of arrival until they have vectors', async () => {
      const [a, b] = [await keep(), await keep()];
      const waiting = await storage.pendingEmbeddings(MODEL, BATCH);
      expect(waiting).toEqual({
        isInUse: true,
        anew: false,
        memories: [
          { ordinal: a.ordinal, revision: 1, content: a.content },
          { ordinal: b.ordinal, revision: 1, content: b.content },
        ],
        waiting: 2,
      });
      await giveVector(a, 1);
      expect((await storage.pendingEmbeddings(MODEL, BATCH)).memories.map((m) => m.ordinal)).toEqual([b.ordinal]);
      expect((await storage.stats('default', NOW)).pendingEmbeddings).toBe(1);
    });

    it('bounds a batch that waits by number and by text, but not to nothing', async () => {
      const long = await keep({ content: '語'.repeat(500) });
      const short = [await keep({ content: 'a' }), await keep({ content: 'b' }), await keep({ content: 'c' })];
      const ordinals = async (limit: number, maxChars: number) =>
        (await storage.pendingEmbeddings(MODEL, { limit, maxChars, maxCharsAnew: 1 })).memories.map(
          (memory) => memory.ordinal,
        );
      expect(await ordinals(10, 100)).toEqual([long.ordinal]);
      expect(await ordinals(10, 502)).toEqual([long.ordinal, short[0]?.ordinal, short[1]?.ordinal]);
      expect(await ordinals(2, 1e6)).toEqual([long.ordinal, short[0]?.ordinal]);
    });

    it('drops vectors of a text that has changed meanwhile', async () => {
      const kept = await keep();
      await storage.update({ namespace: 'default', id: kept.id, at: NOW, content: 'new text' });
      await giveVector(kept, 1);
      expect(admitted(await search('', {}, NOW + 1e6, vector(1)))).toEqual([]);
      expect((await storage.pendingEmbeddings(MODEL, BATCH)).memories).toEqual([
        { ordinal: kept.ordinal, revision: 2, content: 'new text' },
      ]);
    });

    describe('of a query that is still being made', () => {
      const request = { ...RED_HERON, ranking: { limit: 5, minScore: 0, intent: {} }, maxBytes: 100_000 };
      const made = () => ({ modelId: MODEL, values: vector(1) });
      let kept: (NewMemory & { ordinal: number })[];

      beforeEach(async () => {
        kept = [];
        for (const content of ['red heron', 'a heron', 'red', 'blue', 'a bird']) kept.push(await keep({ content }));
        await giveVector(kept[4] as { ordinal: number }, 1);
      });

      const change = (fields: { content: string }) =>
        storage.update({ namespace: 'default', id: kept[3]?.id as string, at: NOW, ...fields });

      async function ordinals(answer: Promise<Answer>): Promise<unknown[]> {
        return (await answer).answers.map(({ memory, ranked }) => [memory.ordinal, memory.content, ranked]);
      }

      const meanwhile: [what: string, happens: () => Promise<unknown>][] = [
        ['nothing happens', async () => {}],
        ['a memory is stored', () => keep({ content: 'red heron, red heron' })],
        ['the best is forgotten', () => storage.forget('default', kept[0]?.id as string)],
        ['one is changed', () => change({ content: 'a heron' })],
        ['one is given vectors', () => giveVector(kept[3] as { ordinal: number }, 1)],
        ['another is searched for', () => search('blue', {}, NOW + 1e6, vector(2))],
        ['another is answered', () => storage.answer({ ...request, text: 'a bird', filter: { since: NOW + 1e9 } })],
        ['groups are looked for', () => storage.backgroundCosine('default')],
        ['all is checked', () => storage.integrity()],
      ];
      it.each(meanwhile)('is waited for with the same answer as when it is there, while %s', async (_, happens) => {
        let make = (_: QueryVector) => {};
        const making = new Promise<QueryVector>((resolve) => {
          make = resolve;
        });
        const waiting = storage.answer({ ...request, vector: making });
        await happens();
        make(made());
        const answer = await ordinals(waiting);
        expect(answer).toEqual(await ordinals(storage.answer({ ...request, vector: made() })));
        expect(answer.length).toBeGreaterThan(2);
      });

      it('is waited for by several answers at a time', async () => {
        const later = (text: string) => storage.answer({ ...request, text, vector: Promise.resolve(made()) });
        const texts = ['red heron', 'blue', 'a bird', 'red heron'];
        const answers = await Promise.all(texts.map((text) => ordinals(later(text))));
        for (const [i, text] of texts.entries()) {
          expect(answers[i]).toEqual(await ordinals(storage.answer({ ...request, text, vector: made() })));
        }
      });

      it('fails the answer as its making fails, and no other', async () => {
        const failing = storage.answer({ ...request, vector: Promise.reject(new Error('no model')) });
        await expect(failing).rejects.toThrow('no model');
        expect(await ordinals(storage.answer({ ...request, vector: made() }))).not.toEqual([]);
      });

      it('may come to nothing', async () => {
        const none = storage.answer({ ...request, vector: Promise.resolve(undefined) });
        expect(await ordinals(none)).toEqual(await ordinals(storage.answer(request)));
      });
    });

    it('lets a memory that is given no vectors wait no longer', async () => {
      await giveVector(await keep());
      expect((await storage.pendingEmbeddings(MODEL, BATCH)).waiting).toBe(0);
    });

    it('never compares vectors of two models, and makes all memories wait for a new one', async () => {
      const kept = await keep();
      await giveVector(kept, 1);
      await storage.useModel('another-model');
      const values = vector(1);
      const request = { namespace: 'default', text: '', filter: {}, now: NOW, poolSize: 10, tailSize: 0 };
      for (const modelId of [MODEL, 'another-model']) {
        expect(admitted(await storage.search({ ...request, vector: { modelId, values } }))).toEqual([]);
      }
      expect((await storage.pendingEmbeddings('another-model', BATCH)).memories).toHaveLength(1);
      const none = { isInUse: false, memories: [], anew: false, waiting: 0 };
      expect(await storage.pendingEmbeddings(MODEL, BATCH)).toEqual(none);
    });

    it('keeps no vectors of a model that is not in use any more', async () => {
      const kept = await keep();
      await storage.useModel('another-model');
      await giveVector(kept, 1);
      expect((await storage.pendingEmbeddings('another-model', BATCH)).memories).toHaveLength(1);
      await storage.useModel(MODEL);
      expect(admitted(await search('', {}, NOW + 1e6, vector(1)))).toEqual([]);
    });

    it('lets what has no vectors go before what has those of another model, be it older or changed', async () => {
      const [first, changed, ...others] = [await keep(), await keep(), await keep(), await keep()];
      for (const kept of [first, changed, ...others]) await giveVector(kept, 1);
      const bare = await keep();
      expect(await storage.useModel('another-model')).toBe(4);
      const arrived = await keep();
      await storage.update({ namespace: 'default', id: changed.id, at: NOW, content: 'new text' });
      const turns: { anew: boolean; ordinals: number[] }[] = [];
      for (;;) {
        const { memories, anew } = await storage.pendingEmbeddings('another-model', BATCH);
        if (memories.length === 0) break;
        turns.push({ anew, ordinals: memories.map(({ ordinal }) => ordinal) });
        const vectors = memories.map(({ ordinal, revision }) => ({ ordinal, revision, vectors: [vector(2)] }));
        await storage.putVectors('another-model', vectors);
      }
      expect(turns).toEqual([
        { anew: false, ordinals: [changed.ordinal, bare.ordinal, arrived.ordinal] },
        { anew: true, ordinals: [first.ordinal, ...others.map(({ ordinal }) => ordinal)] },
      ]);
    });

    it('says how many memories of a namespace the model in use has embedded, over a restart too', async () => {
      const kept = [await keep(), await keep(), await keep({ namespace: 'other' })];
      for (const memory of kept) await giveVector(memory, 1);
      const embedding = async (namespace: string) => (await storage.stats(namespace, NOW)).embedding;
      expect(await embedding('default')).toEqual({ modelId: MODEL, embedded: 2, total: 2 });
      expect(await storage.useModel('another-model')).toBe(3);
      const [first] = kept as [NewMemory & { ordinal: number }];
      await storage.putVectors('another-model', [{ ordinal: first.ordinal, revision: 1, vectors: [vector(1)] }]);
      database = await database.reopen();
      storage = database.storage;
      expect(await embedding('default')).toEqual({ modelId: 'another-model', embedded: 1, total: 2 });
      expect(await embedding('other')).toEqual({ modelId: 'another-model', embedded: 0, total: 1 });
      expect(await storage.useModel('another-model')).toBe(2);
    });

    it('takes no cosine from vectors of the model before while memories wait for the new one', async () => {
      const old = await keep({ content: 'lantern oil' });
      await giveVector(old, 1);
      await storage.useModel('another-model');
      const renewed = await keep({ content: 'lantern wick' });
      const short = Float32Array.from([0.6, 0.8]);
      await storage.putVectors('another-model', [{ ordinal: renewed.ordinal, revision: 1, vectors: [short] }]);
      const request = { namespace: 'default', text: 'lantern', filter: {}, now: NOW + 1e6, poolSize: 10, tailSize: 0 };
      const signals = await storage.search({ ...request, vector: { modelId: 'another-model', values: short } });
      const cosineOf = (ordinal: number) => signals.cosines[signals.ordinals.indexOf(ordinal)];
      expect(cosineOf(renewed.ordinal)).toBeCloseTo(1, 2);
      expect(cosineOf(old.ordinal)).toBeNaN();
    });

    it('goes back to an earlier model without embedding again what it had', async () => {
      const kept = await keep();
      await giveVector(kept, 1);
      await storage.useModel('another-model');
      await storage.useModel(MODEL);
      expect((await storage.pendingEmbeddings(MODEL, BATCH)).waiting).toBe(0);
      expect(admitted(await search('', {}, NOW + 1e6, vector(1)))).toEqual([kept.ordinal]);
    });

    it('keeps vectors over a restart', async () => {
      const kept = await keep();
      await giveVector(kept, 1);
      database = await database.reopen();
      storage = database.storage;
      expect(admitted(await search('', {}, NOW + 1e6, vector(1)))).toEqual([kept.ordinal]);
    });
  });

  describe('consolidating', () => {
    it('settles by the time of storing, some at a time', async () => {
      const kept = [await keep(), await keep(), await keep()];
      const until = (kept[1] as NewMemory).storedAt;
      expect(await settle(until, 1)).toEqual({ count: 1, more: true });
      expect(await settle(until, 5)).toEqual({ count: 1, more: false });
      expect(await counts()).toEqual([1, 2, 0]);
    });

    const twins = ['caf\u00e9 ', ' cafe\u0301', 'caf\u00e9'];

    it('merges exact duplicates into the oldest, which gains what the others had', async () => {
      const [second, first, third] = [
        await keep({ content: twins[0] as string, createdAt: NOW + 2, tags: ['b'], importance: 0.9 }),
        await keep({ content: twins[1] as string, createdAt: NOW + 1, tags: ['a'] }),
        await keep({ content: twins[2] as string, createdAt: NOW + 3, tags: ['b', 'c', 'role:Ann'] }),
      ];
      await storage.recordAccess([{ namespace: 'default', ordinal: third.ordinal, count: 4, at: NOW }]);
      expect(await mergeTwins(10)).toMatchObject({ count: 2 });
      expect(await storage.memory('default', first.id, NOW)).toMatchObject({
        tags: ['a', 'b', 'c', 'role:Ann'],
        importance: 0.9,
        accessCount: 4,
        mergedInto: null,
        version: 1,
      });
      for (const [i, twin] of [second, third].entries()) {
        expect(await storage.memory('default', twin.id, NOW)).toMatchObject({
          content: twins[i * 2],
          mergedInto: first.id,
        });
      }
      expect(await found('cafe')).toEqual([first.ordinal]);
      expect(await found('cafe', { tags: ['c'] })).toEqual([first.ordinal]);
      expect(await counts()).toEqual([1, 0, 0]);
      expect((await storage.session('default', 'default', ALL, NOW)).total).toBe(3);
      expect(await mergeTwins(10)).toEqual({ count: 0, more: false });
    });

    it('merges a large group over several steps', async () => {
      for (let i = 0; i < 150; i++) await keep({ content: 'again' });
      let merged = 0;
      for (let more = true; more; ) {
        const step = await mergeTwins(10);
        merged += step.count;
        more = step.more;
      }
      expect(merged).toBe(149);
    });

    it.each<[string, Partial<NewMemory>]>([
      ['in another session', { sessionId: 'other' }],
      ['with another text', { content: 'same text.' }],
      ['in another case', { content: 'Same text' }],
      ['that expire at another time', { expiresAt: NOW * 2 }],
      ['of another namespace', { namespace: 'other' }],
    ])('does not merge memories %s', async (_name, fields) => {
      await keep({ content: 'same text' });
      await keep({ content: 'same text', ...fields });
      expect(await mergeTwins(10)).toEqual({ count: 0, more: false });
    });

    it('leaves what has tags that the oldest has no room for, so that each is found by its own', async () => {
      const many = Array.from({ length: 64 }, (_, i) => `tag ${i}`);
      const oldest = await keep({ content: 'same text', tags: many });
      const other = await keep({ content: 'same text', tags: ['special'] });
      await keep({ content: 'same text', tags: many.slice(3, 5) });
      expect(await mergeTwins(10)).toEqual({ count: 1, more: false });
      expect(await found('same', { tags: ['special'] })).toEqual([other.ordinal]);
      expect(await found('same', { tags: ['tag 4'] })).toEqual([oldest.ordinal]);
    });

    it('does not merge a correction with what it corrects', async () => {
      const old = await keep({ content: 'same text' });
      await keep({ content: 'same text', supersedes: old.id });
      expect((await mergeTwins(10)).count).toBe(0);
    });

    it('forgets all twins with one of them, and names them', async () => {
      const kept = [await keep({ content: 'x' }), await keep({ content: 'x' }), await keep({ content: 'x' })];
      await mergeTwins(10);
      const ids = kept.map((memory) => memory.id);
      const forgotten = await storage.forget('default', ids[1] as string);
      expect(forgotten).toMatchObject({ outcome: 'forgotten', alsoForgotten: [ids[0], ids[2]] });
      for (const id of ids) expect(await storage.memory('default', id, NOW)).toBeUndefined();
      expect(await counts()).toEqual([0, 0, 0]);
    });

    it('makes a twin with a new text a memory of its own', async () => {
      const [first, twin] = [await keep({ content: 'x' }), await keep({ content: 'x' })];
      await mergeTwins(10);
      await storage.update({ namespace: 'default', id: twin.id, at: NOW, content: 'individual' });
      expect((await storage.memory('default', twin.id, NOW))?.mergedInto).toBeNull();
      expect(await found('individual')).toEqual([twin.ordinal]);
      expect(await found('x')).toEqual([first.ordinal]);
      expect(await counts()).toEqual([2, 0, 0]);
    });

    it('leaves apart what a filter by source or metadata tells apart', async () => {
      const kept = [
        await keep({ content: 'x' }),
        await keep({ content: 'x', source: 'mail' }),
        await keep({ content: 'x', metadata: { k: '2' } }),
      ];
      expect((await mergeTwins(10)).count).toBe(0);
      expect(await found('x', { source: 'mail' })).toEqual([kept[1]?.ordinal]);
      await storage.update({ namespace: 'default', id: kept[2]?.id ?? '', at: NOW, metadata: {} });
      expect((await mergeTwins(10)).count).toBe(1);
      await storage.update({ namespace: 'default', id: kept[0]?.id ?? '', at: NOW, metadata: { k: '3' } });
      expect(await found('x', { metadata: { k: '3' } })).toEqual([kept[0]?.ordinal]);
      expect(await found('x')).toEqual(kept.map(({ ordinal }) => ordinal));
    });

    it('merges memories once they expire at the same time', async () => {
      const kept = [await keep({ content: 'x' }), await keep({ content: 'x', expiresAt: NOW * 2 })];
      expect((await mergeTwins(10)).count).toBe(0);
      await storage.update({ namespace: 'default', id: kept[1]?.id ?? '', at: NOW, expiresAt: null });
      expect((await mergeTwins(10)).count).toBe(1);
      expect(await found('x')).toEqual([kept[0]?.ordinal]);
    });

    it('finds a twin by the tags that it is given later', async () => {
      const twins = [await keep({ content: 'x' }), await keep({ content: 'x' })];
      await mergeTwins(10);
      const changed = { namespace: 'default', id: twins[1]?.id ?? '', at: NOW, tags: ['later'] };
      expect(await storage.update(changed)).toMatchObject({ outcome: 'updated', embedding: true });
      expect(await found('x', { tags: ['later'] })).toEqual([twins[1]?.ordinal]);
      expect((await mergeTwins(10)).count).toBe(1);
      expect(await found('x', { tags: ['later'] })).toEqual([twins[0]?.ordinal]);
    });

    it('keeps a twin’s text in recall when the memory that it was merged into says something else', async () => {
      const [first, twin] = [await keep({ content: 'keepsake' }), await keep({ content: 'keepsake' })];
      await mergeTwins(10);
      await storage.update({ namespace: 'default', id: first.id, at: NOW, content: 'different' });
      expect(await found('keepsake')).toEqual([twin.ordinal]);
      expect(await counts()).toEqual([2, 0, 0]);
    });

    it.each(['survivor', 'twin'] as const)('keeps a text in recall that the %s alone is to lose', async (which) => {
      const kept = [await keep({ content: 'keepsake' }), await keep({ content: 'keepsake' })];
      await mergeTwins(10);
      const target = kept[which === 'survivor' ? 0 : 1] as NewMemory;
      await storage.update({ namespace: 'default', id: target.id, at: NOW, expiresAt: NOW + 5 });
      await mergeTwins(10);
      await evictExpired(NOW + 5, 10);
      const other = kept[which === 'survivor' ? 1 : 0];
      expect(await found('keepsake', {}, NOW + 5)).toEqual([other?.ordinal]);
    });

    it('corrects the memory that a corrected twin was merged into, until the correction is forgotten', async () => {
      const [first, twin] = [await keep({ content: 'x' }), await keep({ content: 'x' })];
      await mergeTwins(10);
      const correction = await keep({ content: 'y', supersedes: twin.id });
      expect((await storage.memory('default', first.id, NOW))?.supersededBy).toBe(correction.id);
      expect(await found('x')).toEqual([first.ordinal, correction.ordinal]);
      await storage.forget('default', correction.id);
      expect((await storage.memory('default', first.id, NOW))?.supersededBy).toBeNull();
      expect((await storage.memory('default', twin.id, NOW))?.supersededBy).toBeNull();
    });

    it('leaves a memory corrected as long as anything corrects it or its twin', async () => {
      const [first, twin] = [await keep({ content: 'x' }), await keep({ content: 'x' })];
      await mergeTwins(10);
      const corrections = [];
      for (const { id } of [first, twin, first, twin]) corrections.push(await keep({ content: 'y', supersedes: id }));
      const supersededBy = async ({ id }: NewMemory) => (await storage.memory('default', id, NOW))?.supersededBy;
      const [ofFirst, ofTwin, ofFirstToo, ofTwinToo] = corrections.map(({ id }) => id);
      for (const [forgotten, left, leftOfTwin] of [
        [ofFirstToo, ofTwinToo, ofTwinToo],
        [ofTwinToo, ofTwin, ofTwin],
        [ofTwin, ofFirst, null],
        [ofFirst, null, null],
      ]) {
        await storage.forget('default', forgotten as string);
        expect([await supersededBy(first), await supersededBy(twin)]).toEqual([left, leftOfTwin]);
      }
    });

    it.each(['survivor', 'twin'] as const)(
      'leaves a correction of a twin to it alone when the %s changes',
      async (which) => {
        const [first, twin] = [await keep({ content: 'x' }), await keep({ content: 'x' })];
        await mergeTwins(10);
        const correction = await keep({ content: 'y', supersedes: twin.id });
        const { id } = which === 'survivor' ? first : twin;
        await storage.update({ namespace: 'default', id, at: NOW, content: 'something else' });
        expect((await storage.memory('default', first.id, NOW))?.supersededBy).toBeNull();
        expect((await storage.memory('default', twin.id, NOW))?.supersededBy).toBe(correction.id);
        await storage.forget('default', correction.id);
        expect((await storage.memory('default', twin.id, NOW))?.supersededBy).toBeNull();
      },
    );

    it('does about as much in a step as it was told to', async () => {
      for (let i = 0; i < 90; i++) await keep({ content: `again ${i % 2}` });
      const step = await mergeTwins(10);
      expect(step.count).toBeLessThan(50);
      expect(step.more).toBe(true);
    });

    it('lets a merged memory carry no more tags than a client may give', async () => {
      const tags = (from: number) => Array.from({ length: 64 }, (_, i) => `tag ${from + i}`);
      const first = await keep({ content: 'x', tags: tags(0) });
      await keep({ content: 'x', tags: tags(64) });
      await mergeTwins(10);
      expect((await storage.memory('default', first.id, NOW))?.tags).toEqual(tags(0));
    });

    it('evicts what has expired without losing its text', async () => {
      const kept = await keep({ content: 'was here', expiresAt: NOW });
      await keep({ expiresAt: NOW + 1 });
      expect(await evictExpired(NOW, 10)).toEqual({ count: 1, more: false });
      expect(await evictExpired(NOW, 10)).toEqual({ count: 0, more: false });
      expect(await counts(NOW)).toEqual([1, 0, 0]);
      expect(await found('was here')).toEqual([]);
      expect(await storage.forget('default', kept.id)).toMatchObject({ outcome: 'forgotten' });
    });

    it('tells what a tier retains least: the older, the less important, the less used', async () => {
      const DAY_MS = 86_400_000;
      const now = NOW + 100 * DAY_MS;
      const plain = await keep({ storedAt: NOW });
      const twinAge = await keep({ storedAt: NOW });
      const old = await keep({ storedAt: NOW - 300 * DAY_MS });
      const important = await keep({ storedAt: NOW, importance: 1 });
      const unimportant = await keep({ storedAt: NOW, importance: 0 });
      const used = await keep({ storedAt: NOW - 300 * DAY_MS });
      await storage.recordAccess([{ namespace: 'default', ordinal: used.ordinal, count: 5, at: now - DAY_MS }]);
      await keep({ storedAt: NOW, expiresAt: NOW + 1 });
      await keep({ storedAt: NOW, namespace: 'other' });
      await storage.settle(await begin(), oldEnough(now), 100);
      await keep({ storedAt: NOW - 300 * DAY_MS });
      const least = await storage.leastRetained('default', 'episodic', 100, now);
      const expected = [unimportant, old, plain, twinAge, important, used];
      expect(least).toMatchObject(expected.map(({ ordinal, id }) => ({ ordinal, id })));
      expect(await storage.leastRetained('default', 'episodic', 2, now)).toEqual(least.slice(0, 2));
      expect(await storage.leastRetained('default', 'semantic', 2, now)).toEqual([]);
    });

    it('tells what is retained least of a tier that is larger than one reading', async () => {
      const unimportant = (place: number) => place % 5000 === 1;
      const many = Array.from({ length: 10_010 }, (_, i) => nextMemory({ importance: unimportant(i) ? 0 : 0.5 }));
      const outcomes = await storage.storeMany(many);
      const ordinals = outcomes.map((stored) => (stored.outcome === 'stored' ? stored.ordinal : 0));
      await storage.settle(await begin(), oldEnough(NOW + 1e6), many.length);
      const least = await storage.leastRetained('default', 'episodic', 4, NOW + 1e9);
      expect(least.map(({ ordinal }) => ordinal)).toEqual([...ordinals.filter((_, i) => unimportant(i)), ordinals[0]]);
    });

    it('evicts from a tier that holds too many, once, without losing a text', async () => {
      const [one, two] = [await keep({ content: 'was here' }), await keep({ content: 'was here too' })];
      const other = await keep({ content: 'was here', namespace: 'other' });
      const run = await begin();
      const ordinals = [one.ordinal, other.ordinal, 999_999];
      expect(await storage.evictExcess(run, 'episodic', ordinals, NOW)).toBe(0);
      expect(await storage.evictExcess(run, 'working', ordinals, NOW)).toBe(1);
      expect(await storage.evictExcess(run, 'working', ordinals, NOW)).toBe(0);
      expect(await counts()).toEqual([1, 0, 0]);
      expect(await found('was here')).toEqual([two.ordinal]);
      expect(await storage.memory('other', other.id, NOW)).toBeDefined();
      expect((await storage.endRun(run, NOW)).counts).toEqual({ evicted: 1 });
      expect(await storage.forget('default', one.id)).toMatchObject({ outcome: 'forgotten' });
    });

    it('remembers when a namespace slept last', async () => {
      expect((await storage.stats('default', NOW)).lastSleepAt).toBeNull();
      await storage.endRun(await begin(), NOW + 5);
      expect((await storage.stats('default', NOW)).lastSleepAt).toBe(NOW + 5);
      expect((await storage.stats('other', NOW)).lastSleepAt).toBeNull();
      // The clock was set back before this one.
      const run = await begin({ at: NOW - 1000 });
      expect((await storage.stats('default', NOW)).lastSleepAt).toBe(NOW + 5);
      await storage.endRun(run, NOW - 1000);
      expect((await storage.stats('default', NOW)).lastSleepAt).toBe(NOW - 1000);
    });

    it('drops old idempotency keys', async () => {
      const idempotency = { key: 'k', digest: 'd' };
      const { storedAt } = await keep({ idempotency });
      await storage.dropIdempotencyKeys(storedAt + 1, 10);
      expect(await storage.store(nextMemory({ idempotency }))).toMatchObject({ outcome: 'stored' });
    });
  });

  describe('runs of consolidation', () => {
    it('are counted by what they did', async () => {
      for (const content of ['x', 'x', 'y']) await keep({ content });
      await keep({ expiresAt: NOW });
      const run = await begin({ id: 'a run' });
      await storage.settle(run, oldEnough(NOW * 2), 10);
      await storage.evictExpired(run, NOW, 10);
      await storage.mergeTwins(run, 10);
      expect(await storage.endRun(run, NOW + 7)).toEqual<SleepRun>({
        no: run.no,
        id: 'a run',
        state: 'completed',
        startedAt: NOW,
        endedAt: NOW + 7,
        counts: { settled: 4, evicted: 1, merged: 1, gained: 1 },
        notes: {},
      });
    });

    it('go on under their id and count on when a crash has left them', async () => {
      for (let i = 0; i < 3; i++) await keep();
      const left = await begin({ id: 'left', at: NOW + 1e6 });
      await storage.settle(left, oldEnough(NOW * 2), 2);
      database = await database.reopen();
      storage = database.storage;
      const fence = (await database.lease.acquire(SLEEP_LEASE, 'another process', NOW + 2e6, 1000)) as number;
      const begun = await storage.beginRun('default', { id: 'new', startedAt: NOW + 2e6, settledUntil: NOW, fence });
      expect(begun).toEqual({
        outcome: 'resumed',
        ref: { namespace: 'default', no: left.no, id: 'left', fence },
        settledUntil: NOW + 1e6,
      });
      expect(await storage.settle(begun.ref, oldEnough(NOW + 1e6), 2)).toEqual({ count: 1, more: false });
      expect(await storage.endRun(begun.ref, NOW)).toMatchObject({ id: 'left', counts: { settled: 3 } });
    });

    it('are apart in each namespace', async () => {
      const [one, other] = [await begin(), await begin({ namespace: 'other' })];
      expect(one.no).not.toBe(other.no);
      await keep();
      expect(await storage.settle(other, oldEnough(NOW * 2), 10)).toEqual({ count: 0, more: false });
      expect(await storage.settle(one, oldEnough(NOW * 2), 10)).toEqual({ count: 1, more: false });
    });

    it('write nothing any more when another process has taken the lease', async () => {
      await keep({ content: 'x', expiresAt: NOW });
      await keep({ content: 'x', expiresAt: NOW });
      const slow = await begin();
      const quick = await begin({ holder: 'another process', at: NOW + 1000 });
      const refused = { code: 'UNAVAILABLE' };
      await expect(storage.settle(slow, oldEnough(NOW * 2), 10)).rejects.toMatchObject(refused);
      await expect(storage.mergeTwins(slow, 10)).rejects.toMatchObject(refused);
      await expect(storage.dropCandidates(slow, [])).rejects.toMatchObject(refused);
      await expect(storage.evictExpired(slow, NOW, 10)).rejects.toMatchObject(refused);
      await expect(storage.endRun(slow, NOW)).rejects.toMatchObject(refused);
      const { fence } = slow;
      const late = { id: 'late', startedAt: NOW, settledUntil: NOW, fence };
      await expect(storage.beginRun('default', late)).rejects.toMatchObject(refused);
      expect(await counts(NOW - 1)).toEqual([2, 0, 0]);
      expect((await storage.settle(quick, oldEnough(NOW * 2), 10)).count).toBe(2);
    });

    async function sleepOnce(id = `run-${++arrivals}`, now = NOW): Promise<RunRef> {
      const run = await begin({ id, at: now });
      await all(() => storage.settle(run, oldEnough(NOW + 1e6), 10));
      await all(() => storage.evictExpired(run, now, 10));
      await all(() => storage.mergeTwins(run, 10));
      await storage.endRun(run, now);
      return run;
    }

    async function all(work: () => Promise<StepResult>): Promise<void> {
      while ((await work()).more);
    }

    function beginUndo(id: string, endedAfter = 0): Promise<UndoOutcome> {
      return database.lease
        .acquire(SLEEP_LEASE, 'this process', NOW, 1000)
        .then((fence) => storage.beginUndo('default', id, { fence: fence ?? 0, endedAfter }));
    }

    async function undo(id: string, atOnce = 3): Promise<void> {
      const begun = await beginUndo(id);
      if (begun.outcome !== 'begun') throw new Error(`cannot be undone: ${begun.outcome}`);
      await all(() => storage.undoSome(begun.ref, NOW, atOnce));
    }

    const changesOf = async ({ namespace, no }: RunRef) =>
      (await storage.changes(namespace, no, ALL)).items.map(({ seq, ...rest }) => rest);

    it('are listed newest first, with what they did', async () => {
      const [survivor, twin] = [await keep({ content: 'x', tags: ['a'] }), await keep({ content: 'x', tags: ['b'] })];
      const expired = await keep({ expiresAt: NOW });
      const first = await sleepOnce('first');
      await sleepOnce('second');
      const { items, total } = await storage.runs('default', ALL);
      expect([items.map((run) => run.id), total]).toEqual([['second', 'first'], 2]);
      expect(await storage.run('default', 'first')).toEqual(items[1]);
      expect(await storage.run('other', 'first')).toBeUndefined();
      expect((await storage.runs('other', ALL)).total).toBe(0);
      expect(await changesOf(first)).toEqual([
        { kind: 'settled', id: survivor.id },
        { kind: 'settled', id: twin.id },
        { kind: 'settled', id: expired.id },
        { kind: 'evicted', id: expired.id, reason: 'expired' },
        { kind: 'gained', id: survivor.id, before: { tags: ['a'], importance: 0.5 } },
        { kind: 'merged', id: twin.id, mergedInto: survivor.id },
      ]);
    });

    it('are read a page at a time, and so is what they did', async () => {
      for (let i = 0; i < 3; i++) await keep();
      const run = await sleepOnce('a');
      await sleepOnce('b');
      const [newest] = (await storage.runs('default', { ...ALL, limit: 1 })).items;
      const rest = await storage.runs('default', { ...ALL, limit: 1, after: newest?.no ?? 0 });
      expect([newest?.id, rest.items.map(({ id }) => id), rest.next]).toEqual(['b', ['a'], undefined]);
      const page = await storage.changes('default', run.no, { ...ALL, limit: 2 });
      expect([page.items.length, page.total, page.next]).toEqual([2, 3, 2]);
      const last = await storage.changes('default', run.no, { ...ALL, limit: 2, after: 2 });
      expect(last.items.map(({ seq }) => seq)).toEqual([3]);
      expect(await storage.changes('other', run.no, ALL)).toEqual({ items: [], total: 0 });
    });

    it('no longer tell of a memory that has been forgotten', async () => {
      const [survivor, twin] = [await keep({ content: 'x' }), await keep({ content: 'x' })];
      const run = await sleepOnce();
      await storage.update({ namespace: 'default', id: twin.id, at: NOW, content: 'y' });
      await storage.forget('default', survivor.id);
      expect(await changesOf(run)).toEqual([
        { kind: 'settled', id: twin.id },
        { kind: 'merged', id: twin.id, mergedInto: null },
      ]);
      expect((await storage.runs('default', ALL)).items[0]?.counts).toMatchObject({ settled: 2 });
    });

    it('are taken back whole: tiers, twins, what survivors gained, and what was evicted', async () => {
      const survivor = await keep({ content: 'x', tags: ['a', 'shared'], importance: 0.2 });
      const twin = await keep({ content: 'x', tags: ['shared', 'b', 'role:Ann'], importance: 0.9 });
      const evicted = await keep({ content: 'gone', expiresAt: NOW + 10 });
      await storage.recordAccess([
        { namespace: 'default', ordinal: survivor.ordinal, count: 2, at: NOW },
        { namespace: 'default', ordinal: twin.ordinal, count: 3, at: NOW + 5 },
      ]);
      const read = () => Promise.all([survivor, twin, evicted].map(({ id }) => storage.memory('default', id, NOW)));
      const before = await read();
      await sleepOnce('a run', NOW + 10);
      expect(await counts(NOW)).toEqual([0, 1, 0]);
      await undo('a run', 1);
      expect(await read()).toEqual(before);
      expect(await counts(NOW)).toEqual([3, 0, 0]);
      expect(await found('x')).toEqual([survivor.ordinal, twin.ordinal]);
      expect(await found('x', { tags: ['b'] })).toEqual([twin.ordinal]);
      expect(await found('gone', {}, NOW)).toEqual([evicted.ordinal]);
      expect(await storage.run('default', 'a run')).toMatchObject({ state: 'undone', counts: { merged: 1 } });
    });

    it('bring back the twins that were evicted with a memory', async () => {
      const [survivor, twin] = [await keep({ content: 'said twice' }), await keep({ content: 'said twice' })];
      await mergeTwins(10);
      const run = await begin();
      expect(await storage.evictExcess(run, 'working', [survivor.ordinal], NOW)).toBe(1);
      expect((await storage.endRun(run, NOW)).counts).toMatchObject({ evicted: 1 });
      for (const { id } of [survivor, twin]) expect(await storage.memory('default', id, NOW)).toBeUndefined();
      await undo(run.id);
      expect(await storage.memory('default', survivor.id, NOW)).toMatchObject({ mergedInto: null });
      expect(await storage.memory('default', twin.id, NOW)).toMatchObject({ mergedInto: survivor.id });
      expect(await found('said twice')).toEqual([survivor.ordinal]);
    });

    it('taken back leave uses that came since', async () => {
      const [survivor, twin] = [await keep({ content: 'x' }), await keep({ content: 'x' })];
      await storage.recordAccess([{ namespace: 'default', ordinal: twin.ordinal, count: 3, at: NOW + 5 }]);
      await sleepOnce('a run');
      await storage.recordAccess([{ namespace: 'default', ordinal: survivor.ordinal, count: 1, at: NOW + 7 }]);
      await undo('a run');
      expect(await storage.memory('default', survivor.id, NOW)).toMatchObject({ accessCount: 1, accessedAt: NOW + 7 });
      expect(await storage.memory('default', twin.id, NOW)).toMatchObject({ accessCount: 3, accessedAt: NOW + 5 });
    });

    it('are taken back newest first, past those that changed nothing', async () => {
      const older = await keep({ content: 'x', createdAt: NOW + 1 });
      const twin = await keep({ content: 'x', createdAt: NOW + 2 });
      await sleepOnce('first');
      const oldest = await keep({ content: 'x', createdAt: NOW });
      await sleepOnce('second');
      await sleepOnce('idle');
      const intoOf = async (id: string) => (await storage.memory('default', id, NOW))?.mergedInto;
      expect([await intoOf(older.id), await intoOf(twin.id)]).toEqual([oldest.id, oldest.id]);
      expect(await beginUndo('first')).toEqual({ outcome: 'newer', id: 'second' });
      await undo('second');
      expect([await intoOf(older.id), await intoOf(twin.id), await intoOf(oldest.id)]).toEqual([null, older.id, null]);
      await undo('first');
      expect([await intoOf(older.id), await intoOf(twin.id)]).toEqual([null, null]);
      expect(await found('x')).toEqual([older.ordinal, twin.ordinal, oldest.ordinal].sort((a, b) => a - b));
    });

    it('taken back free a twin whose former survivor says something else by now', async () => {
      const older = await keep({ content: 'x', createdAt: NOW + 1 });
      const twin = await keep({ content: 'x', createdAt: NOW + 2 });
      await sleepOnce('first');
      await keep({ content: 'x', createdAt: NOW });
      await sleepOnce('second');
      await storage.update({ namespace: 'default', id: older.id, at: NOW, content: 'y' });
      await undo('second');
      expect((await storage.memory('default', twin.id, NOW))?.mergedInto).toBeNull();
      expect(await counts()).toEqual([1, 2, 0]);
    });

    it('are not taken back over what a client has written since, and say of which memories', async () => {
      const [survivor] = [await keep({ content: 'x' }), await keep({ content: 'x' })];
      await sleepOnce('a run');
      await storage.update({ namespace: 'default', id: survivor.id, at: NOW, tags: ['mine'] });
      expect(await beginUndo('a run')).toEqual({ outcome: 'written', ids: [survivor.id] });
      expect(await counts()).toEqual([0, 1, 0]);
    });

    it('taken back leave what a client writes meanwhile', async () => {
      const [survivor, twin] = [await keep({ content: 'x' }), await keep({ content: 'x', tags: ['a'] })];
      await sleepOnce('a run');
      const begun = await beginUndo('a run');
      if (begun.outcome !== 'begun') throw new Error(begun.outcome);
      await storage.update({ namespace: 'default', id: survivor.id, at: NOW, tags: ['mine'] });
      await all(() => storage.undoSome(begun.ref, NOW, 1));
      expect(await storage.memory('default', survivor.id, NOW)).toMatchObject({ tags: ['mine'], tier: 'working' });
      expect(await storage.memory('default', twin.id, NOW)).toMatchObject({ tags: ['a'], mergedInto: null });
    });

    it('taken back leave forgotten what was forgotten since', async () => {
      const kept = [await keep({ content: 'x' }), await keep({ content: 'x' }), await keep()];
      await sleepOnce('a run');
      await storage.forget('default', kept[0]?.id ?? '');
      await undo('a run');
      expect(await counts()).toEqual([1, 0, 0]);
    });

    it('taken back take back a correction that came only by way of a twin', async () => {
      const [survivor, twin] = [await keep({ content: 'x' }), await keep({ content: 'x' })];
      await sleepOnce('a run');
      const correction = await keep({ content: 'y', supersedes: twin.id });
      await undo('a run');
      expect((await storage.memory('default', survivor.id, NOW))?.supersededBy).toBeNull();
      expect((await storage.memory('default', twin.id, NOW))?.supersededBy).toBe(correction.id);
    });

    it('taken back take a correction of a twin back to the memory that it was merged into before', async () => {
      const later = [
        await keep({ content: 'x', createdAt: NOW + 5 }),
        await keep({ content: 'x', createdAt: NOW + 6 }),
      ];
      await sleepOnce();
      const oldest = await keep({ content: 'x', createdAt: NOW });
      await sleepOnce('a run');
      const correction = await keep({ content: 'y', supersedes: later[1]?.id ?? '' });
      const corrected = async () =>
        Promise.all(
          [oldest, ...later].map(async ({ id }) => (await storage.memory('default', id, NOW))?.supersededBy ?? null),
        );
      expect(await corrected()).toEqual([correction.id, null, correction.id]);
      await undo('a run');
      expect(await corrected()).toEqual([null, correction.id, correction.id]);
    });

    it('are taken back no more when they are unknown, not completed, undone or too old', async () => {
      expect(await beginUndo('none')).toEqual({ outcome: 'unknown' });
      await keep();
      await begin({ id: 'a run' });
      expect(await beginUndo('a run')).toEqual({ outcome: 'not-completed', state: 'running' });
      await sleepOnce();
      expect(await beginUndo('a run', NOW)).toEqual({ outcome: 'too-old' });
      await undo('a run');
      expect(await beginUndo('a run')).toEqual({ outcome: 'not-completed', state: 'undone' });
    });

    it('go on being taken back where a crash stopped that', async () => {
      for (let i = 0; i < 5; i++) await keep();
      await sleepOnce('a run');
      const begun = await beginUndo('a run');
      if (begun.outcome !== 'begun') throw new Error(begun.outcome);
      expect(await storage.undoSome(begun.ref, NOW, 2)).toEqual({ count: 2, more: true });
      database = await database.reopen();
      storage = database.storage;
      const fence = (await database.lease.acquire(SLEEP_LEASE, 'another process', NOW + 1e6, 1000)) as number;
      const next = { id: 'next', startedAt: NOW, settledUntil: NOW, fence };
      const left = await storage.beginRun('default', next);
      expect(left).toEqual({ outcome: 'undoing', ref: { ...begun.ref, fence } });
      expect(await storage.undoSome(left.ref, NOW, 10)).toEqual({ count: 3, more: false });
      expect(await counts()).toEqual([5, 0, 0]);
      expect((await storage.run('default', 'a run'))?.state).toBe('undone');
      expect((await storage.beginRun('default', next)).outcome).toBe('begun');
    });

    it('take themselves back before they have ended', async () => {
      for (const content of ['x', 'x']) await keep({ content });
      const run = await begin({ id: 'a run' });
      await storage.settle(run, oldEnough(NOW + 1e6), 10);
      await storage.mergeTwins(run, 10);
      await storage.beginRevert(run, { why: 'recall fell' });
      await expect(storage.settle(run, oldEnough(NOW + 1e6), 10)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      await all(() => storage.undoSome(run, NOW + 3, 1));
      expect(await storage.run('default', 'a run')).toMatchObject({
        state: 'reverted',
        endedAt: NOW + 3,
        counts: { settled: 2, merged: 1 },
        notes: { why: 'recall fell' },
      });
      expect(await counts()).toEqual([2, 0, 0]);
    });

    it('tell beforehand what they would do', async () => {
      const old = [await keep({ content: 'x' }), await keep({ content: ' x' }), await keep({ content: 'y' })];
      const until = old[2]?.storedAt ?? 0;
      await keep({ content: 'x', sessionId: 'other' });
      const expired = [await keep({ content: 'z', expiresAt: NOW }), await keep({ content: 'z', expiresAt: NOW })];
      const [a, b, c] = old.map((memory) => memory.id);
      expect(await storage.planSettle('default', oldEnough(until), 2)).toEqual({
        total: 3,
        items: [{ id: a }, { id: b }],
      });
      expect(await storage.planMerge('default', NOW, 10)).toEqual({ total: 1, items: [{ id: b, mergedInto: a }] });
      expect(await storage.planEvict('default', NOW, 10)).toEqual({
        total: 2,
        items: expired.map(({ id }) => ({ id, reason: 'expired' })),
      });
      const run = await begin();
      expect(await storage.settle(run, oldEnough(until), 10)).toMatchObject({ count: 3 });
      expect(await storage.evictExpired(run, NOW, 10)).toMatchObject({ count: 2 });
      expect(await storage.mergeTwins(run, 10)).toMatchObject({ count: 1 });
      const nothing = { total: 0, items: [] };
      expect(await storage.planSettle('default', oldEnough(until), 10)).toEqual(nothing);
      expect(await storage.planMerge('default', NOW, 10)).toEqual(nothing);
      expect(await storage.planEvict('default', NOW, 10)).toEqual(nothing);
      await keep({ id: 'late', content: 'y' });
      expect(await storage.planMerge('default', NOW, 10)).toEqual({ total: 1, items: [{ id: 'late', mergedInto: c }] });
    });

    it('tell beforehand how many of a large group they would merge, and name the first', async () => {
      for (let i = 0; i < 100; i++) await keep({ content: `again ${i % 2}` });
      const plan = await storage.planMerge('default', NOW, 60);
      expect([plan.total, plan.items.length]).toEqual([98, 60]);
      expect(new Set(plan.items.map(({ mergedInto }) => mergedInto)).size).toBe(2);
    });

    it('erase what was evicted long ago, and records as old but the newest', async () => {
      const [old, twin] = [
        await keep({ content: 'long gone', expiresAt: NOW }),
        await keep({ content: 'long gone', expiresAt: NOW }),
      ];
      await all(async () => mergeTwins(10));
      const late = await keep({ content: 'lately gone', expiresAt: NOW + 5 });
      await sleepOnce('old');
      await sleepOnce('late', NOW + 5);
      const run = await begin({ id: 'now', at: NOW + 10 });
      await all(() => storage.clearArchive(run, NOW + 1, 1));
      for (const { id } of [old, twin]) expect(await storage.forget('default', id)).toEqual({ outcome: 'unknown' });
      expect((await storage.runs('default', ALL)).items.map(({ id }) => id)).toEqual(['now', 'late']);
      expect(await storage.forget('default', late.id)).toMatchObject({ outcome: 'forgotten' });
      await all(() => storage.clearArchive(run, NOW + 1e6, 10));
      await storage.endRun(run, NOW + 10);
      expect((await storage.runs('default', ALL)).items.map(({ id }) => id)).toEqual(['now']);
    });

    it('come to a namespace as long as anything is in its archive', async () => {
      await keep({ expiresAt: NOW });
      await evictExpired(NOW, 10);
      expect(await counts()).toEqual([0, 0, 0]);
      expect(await storage.namespaces()).toEqual(['default']);
      const run = await begin();
      await all(() => storage.clearArchive(run, NOW + 1, 10));
      expect(await storage.namespaces()).toEqual([]);
    });

    it('write nothing any more when they have ended', async () => {
      const run = await begin();
      await storage.endRun(run, NOW);
      await expect(storage.settle(run, oldEnough(NOW * 2), 10)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      await expect(storage.endRun(run, NOW)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    });
  });

  describe('leases', () => {
    const MINE = expect.any(Number);

    it('has one holder at a time, who may renew it', async () => {
      const { lease } = database;
      expect(await lease.acquire('job', 'a', NOW, 1000)).toEqual(MINE);
      expect(await lease.acquire('job', 'b', NOW + 999, 1000)).toBeNull();
      expect(await lease.acquire('job', 'a', NOW + 500, 1000)).toEqual(MINE);
      expect(await lease.acquire('job', 'b', NOW + 1499, 1000)).toBeNull();
      expect(await lease.acquire('other job', 'b', NOW, 1000)).toEqual(MINE);
    });

    it('passes on when it ends or is given up', async () => {
      const { lease } = database;
      await lease.acquire('job', 'a', NOW, 1000);
      expect(await lease.acquire('job', 'b', NOW + 1000, 1000)).toEqual(MINE);
      await lease.release('job', 'a');
      expect(await lease.acquire('job', 'c', NOW + 1001, 1000)).toBeNull();
      await lease.release('job', 'b');
      expect(await lease.acquire('job', 'c', NOW + 1001, 1000)).toEqual(MINE);
    });

    it('passes on when the clock has been set far back', async () => {
      const { lease } = database;
      await lease.acquire('job', 'a', NOW + 1e9, 1000);
      expect(await lease.acquire('job', 'b', NOW, 1000)).toEqual(MINE);
    });

    it('has a fence that stays while it is renewed and grows with every other holder', async () => {
      const { lease } = database;
      const first = (await lease.acquire('job', 'a', NOW, 1000)) as number;
      expect(await lease.acquire('job', 'a', NOW + 500, 1000)).toBe(first);
      const second = (await lease.acquire('job', 'b', NOW + 1500, 1000)) as number;
      expect(second).toBeGreaterThan(first);
      await lease.release('job', 'b');
      const third = (await lease.acquire('job', 'a', NOW + 1501, 1000)) as number;
      expect(third).toBeGreaterThan(second);
      await lease.release('job', 'a');
      expect(await lease.acquire('job', 'a', NOW + 1502, 1000)).toBeGreaterThan(third);
    });
  });
}
