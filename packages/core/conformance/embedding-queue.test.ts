import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { openNewSqlite } from '@memoryd/sqlite/testing';
import { newMemory, testedStorage } from '@memoryd/suites';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EmbeddingQueue } from '../src/embedding-queue/embedding-queue.ts';
import {
  type Embedder,
  EmbedderUnavailable,
  type Embedding,
  type EmbedPurpose,
  type OpenEmbedder,
} from '../src/ports/embedder.ts';
import type { TelemetryEvent } from '../src/ports/runtime.ts';
import type { Storage } from '../src/ports/storage.ts';
import type { NewMemory } from '../src/ports/storage-memories.ts';
import type { PendingEmbedding } from '../src/ports/storage-vectors.ts';

const tested = testedStorage(openNewSqlite(10_000));
let storage: Storage;
let queues: EmbeddingQueue[];
let events: string[];
const telemetry = { report: ({ event }: TelemetryEvent) => void events.push(event) };

beforeEach(() => {
  events = [];
  queues = [];
  ({ storage } = tested);
});
afterEach(async () => {
  for (const queue of queues) await queue.stop();
});

/** Words with the same meaning. */
const MEANINGS: Record<string, string> = { feline: 'cat', resting: 'sleeps' };

const vectors = new Map<string, readonly number[]>();

/** Returns the vector of a word, and of its synonyms. */
function getWordVector(word: string): readonly number[] {
  const known = vectors.get(word);
  if (known) return known;
  const digest = createHash('sha512')
    .update(MEANINGS[word] ?? word)
    .digest();
  const vector = Array.from(digest, (byte) => byte - 127.5);
  vectors.set(word, vector);
  return vector;
}

/** Returns the sum of a vector per word, so that texts with common words or meanings are near. */
function getVector(text: string): Float32Array {
  const sum = new Float32Array(64);
  for (const word of text.toLowerCase().split(' ')) {
    for (const [place, value] of getWordVector(word).entries()) sum[place] = (sum[place] as number) + value;
  }
  const length = Math.hypot(...sum);
  return sum.map((component) => component / length);
}

/** Characters of a part. */
const PART_CHARS = 1000;

function embedParts(text: string, maxParts = Number.POSITIVE_INFINITY): Embedding {
  const count = Math.min(maxParts, Math.max(1, Math.ceil(text.length / PART_CHARS)));
  const part = (i: number) => text.slice(i * PART_CHARS, (i + 1) * PART_CHARS);
  const vectors = Array.from({ length: count }, (_, i) => getVector(part(i)));
  return { vectors, ...(count * PART_CHARS < text.length && { next: count * PART_CHARS }) };
}

const model: Embedder = {
  modelId: 'hashed-words',
  dimensions: 64,
  maxBatchSize: 64,
  embed: async (texts, _purpose, maxParts) => texts.map((text) => embedParts(text, maxParts)),
  close: async () => {},
};

/** Returns the model with a hook before each call, which can fail. */
function withHook(before: (texts: readonly string[], purpose: EmbedPurpose) => void | Promise<void>): Embedder {
  return {
    modelId: model.modelId,
    dimensions: model.dimensions,
    maxBatchSize: model.maxBatchSize,
    async embed(texts, purpose, maxParts) {
      await before(texts, purpose);
      return model.embed(texts, purpose, maxParts);
    },
    close: () => model.close(),
  };
}

const start = (embedder: Embedder) => startOpening(async () => embedder);

const startOpening = (open: OpenEmbedder) => startOn(storage, open);

async function startOn(place: Storage, open: OpenEmbedder): Promise<EmbeddingQueue> {
  const queue = new EmbeddingQueue(open, place, telemetry);
  queues.push(queue);
  await queue.start();
  return queue;
}

/** Returns the storage with a counter of reads of pending short texts. */
function createCountingStorage(): { looks(): number; storage: Storage } {
  let count = 0;
  const watched: Storage = {
    ...storage,
    async pendingEmbeddings(modelId, batch) {
      const pending = await storage.pendingEmbeddings(modelId, batch);
      if (!batch.long) count++;
      return pending;
    },
  };
  return { looks: () => count, storage: watched };
}

let arrivals = 0;

/** Stores memories in one commit, and returns them as pending memories. */
async function storeAll(contents: readonly string[], fields: Partial<NewMemory> = {}): Promise<PendingEmbedding[]> {
  const memories = contents.map((content) =>
    newMemory({ id: `m${++arrivals}`, content, createdAt: arrivals, ...fields }),
  );
  return (await storage.storeMany(memories)).map((stored, i) => {
    if (stored.outcome !== 'stored') throw new Error(stored.outcome);
    return { ordinal: stored.ordinal, revision: 1, content: contents[i] as string };
  });
}
const store = async (content: string) => (await storeAll([content]))[0] as PendingEmbedding;
const numbered = (count: number, name = 'text') => Array.from({ length: count }, (_, i) => `${name} ${i}`);

const waiting = async () =>
  (await storage.pendingEmbeddings(model.modelId, { limit: 1, maxChars: 1, maxReembeddingChars: 1 })).waiting;

describe('the embedding queue', () => {
  it('resolves a store once a vector search can find the memory', async () => {
    const queue = await start(withHook(() => {}));
    const stored = await store('the cat sleeps on the sofa');
    await queue.stored([stored]);
    const vector = await queue.queryVector('feline resting');
    const signals = await storage.search({
      namespace: 'default',
      text: '',
      ...(vector && { vector }),
      filter: {},
      now: 0,
      poolSize: 10,
      tailSize: 0,
    });
    expect(signals.ordinals[0]).toBe(stored.ordinal);
    expect(signals.cosines[0]).toBeGreaterThan(0.3);
  });

  it('the embedding queue does not read newly stored texts from storage', async () => {
    const { looks, storage: watched } = createCountingStorage();
    const queue = await startOn(watched, async () => withHook(() => {}));
    await expect.poll(looks).toBe(1);
    for (const text of ['one', 'another']) await queue.stored([await store(text)]);
    expect(looks()).toBe(1);
    expect(await waiting()).toBe(0);
  });

  it('embeds memories in order of arrival', async () => {
    const seen: string[] = [];
    await storeAll(numbered(70));
    await start(withHook((texts) => void seen.push(...texts)));
    await expect.poll(waiting).toBe(0);
    expect(seen).toEqual(numbered(70));
  });

  it('embeds the newest memories early if a long backlog is pending', async () => {
    const seen: string[] = [];
    await storeAll(numbered(700));
    await start(withHook((texts) => void seen.push(...texts)));
    await expect.poll(waiting).toBe(0);
    expect(seen.slice(0, 500)).toEqual(numbered(500));
    expect(seen.indexOf('text 699')).toBeLessThan(600);
    expect([...seen].sort()).toEqual(numbered(700).sort());
  });

  it('embeds the memory of a user early if a long backlog of another user is pending', async () => {
    const seen: string[] = [];
    await storeAll(numbered(700), { userId: 'ada' });
    await storeAll(['from bob'], { userId: 'bob' });
    await start(withHook((texts) => void seen.push(...texts)));
    await expect.poll(waiting).toBe(0);
    expect(seen.indexOf('from bob')).toBe(1);
  });

  it('resolves a store without waiting for the re-embedding of other memories', async () => {
    await storeAll(numbered(70));
    const before = await start({ ...withHook(() => {}), modelId: 'another-model' });
    await expect.poll(() => storage.stats('default', 0)).toMatchObject({ pendingEmbeddings: 0 });
    await before.stop();
    const batches: number[] = [];
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const queue = await start(
      withHook((texts) => {
        batches.push(texts.length);
        return gate;
      }),
    );
    await expect.poll(() => batches).toEqual([32]);
    const stored = queue.stored([await store('the last')]);
    go();
    await stored;
    expect(batches.slice(0, 2)).toEqual([32, 1]);
    await expect.poll(() => storage.stats('default', 0)).toMatchObject({ pendingEmbeddings: 0 });
  });

  it('the embedding queue does not delay stores while more than 64 memories are pending', async () => {
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    let calls = 0;
    const { looks, storage: watched } = createCountingStorage();
    const queue = await startOn(watched, async () =>
      withHook(() => {
        calls++;
        return gate;
      }),
    );
    // The first read finds nothing; a later one would count the memories stored meanwhile.
    await expect.poll(looks).toBe(1);
    let answered = 0;
    const stores: Promise<unknown>[] = [];
    const storeAndQueue = async (text: string) => {
      const stored = await store(text);
      stores.push(queue.stored([stored]).then(() => answered++));
    };
    await storeAndQueue('the first');
    // From here on the model blocks the queue, so only added memories are counted.
    await expect.poll(() => calls).toBe(1);
    for (let i = 1; i < 70; i++) await storeAndQueue(`text ${i}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(answered).toBe(6);
    go();
    await Promise.all(stores);
    await expect.poll(waiting).toBe(0);
  });

  it('embeds at most one more batch while it writes the previous vectors', async () => {
    await storeAll(numbered(150));
    const done: string[] = [];
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const slow: Storage = {
      ...storage,
      async putVectors(modelId, vectors) {
        done.push('write');
        if (done.filter((step) => step === 'write').length === 2) await gate;
        return storage.putVectors(modelId, vectors);
      },
    };
    await startOn(slow, async () => withHook(() => void done.push('embed')));
    await expect.poll(() => done).toEqual(['embed', 'write', 'embed', 'write', 'embed']);
    await delay(50);
    expect(done).toHaveLength(5);
    go();
    await expect.poll(waiting).toBe(0);
  });

  it('embeds a batch again after a failed write, and waits for a running write when it stops', async () => {
    await storeAll(numbered(150));
    let writes = 0;
    let activeWrites = 0;
    const failing: Storage = {
      ...storage,
      async putVectors(modelId, vectors) {
        if (++writes === 3) throw new Error('the disk is full');
        activeWrites++;
        await delay(20);
        const written = await storage.putVectors(modelId, vectors);
        activeWrites--;
        return written;
      },
    };
    const queue = await startOn(failing, async () => withHook(() => {}));
    await expect.poll(waiting, { timeout: 5000 }).toBe(0);
    expect(events).toEqual(['vectors_not_kept']);
    await storeAll(numbered(150, 'another'));
    queue.look();
    await expect.poll(() => activeWrites).toBe(1);
    await queue.stop();
    expect(activeWrites).toBe(0);
  });

  it('pauses while memories are being stored', async () => {
    await storeAll(numbered(100));
    const done: string[] = [];
    const slow = withHook(async () => {
      // Makes the possible pause nearly a second long.
      if (done.length === 0) {
        await delay(300);
        queues[0]?.yieldTo(delay(100).then(() => done.push('stored')));
      }
      done.push('embedded');
    });
    await start(slow);
    await expect.poll(waiting, { timeout: 5000 }).toBe(0);
    expect(done.slice(0, 3)).toEqual(['embedded', 'stored', 'embedded']);
  });

  it('resumes if a store never ends, and does not pause while a store waits for its vector', async () => {
    const queue = await start(withHook(() => {}));
    queue.yieldTo(new Promise(() => {}));
    await storeAll(numbered(100));
    queue.look();
    await queue.stored([await store('waited for')]);
    await expect.poll(waiting, { timeout: 5000 }).toBe(0);
  });

  it('returns query vectors and does not delay stores while vectors cannot be written', async () => {
    const ordinal = await store('text');
    let isFull = true;
    const failing: Storage = {
      ...storage,
      putVectors: (...args) => (isFull ? Promise.reject(new Error('the disk is full')) : storage.putVectors(...args)),
    };
    const queue = await startOn(failing, async () => withHook(() => {}));
    await expect.poll(() => events).toContain('vectors_not_kept');
    expect(queue.health).toEqual({ state: 'ready' });
    expect(await queue.queryVector('anything')).toBeDefined();
    await queue.stored([ordinal]);
    isFull = false;
    await expect.poll(waiting, { timeout: 5000 }).toBe(0);
  });

  it('delays a bulk store of at most 64 memories until their vectors are written', async () => {
    const queue = await start(withHook(() => {}));
    const few = await storeAll(numbered(30, 'few'));
    await queue.stored(few);
    expect(await waiting()).toBe(0);
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const held = await start(withHook(() => gate));
    const many = await storeAll(numbered(65, 'many'));
    await held.stored(many);
    go();
    await expect.poll(waiting).toBe(0);
  });

  it('delays a store of 30 memories of one page each until their vectors are written', async () => {
    const queue = await start(withHook(() => {}));
    const page = 'word '.repeat(200);
    const pages = await storeAll(Array(30).fill(page));
    await queue.stored(pages);
    expect(await waiting()).toBe(0);
  });

  it('delays stores until their vectors are written, even after a text that is longer than a batch', async () => {
    const queue = await start(withHook(() => delay(200)));
    const answered = [queue.stored([await store('word '.repeat(4000))]), queue.stored([await store('short')])];
    await Promise.all(answered);
    expect(await waiting()).toBe(0);
  });

  it('resolves all concurrent changes of a memory when the newest text has its vector', async () => {
    const queue = await start(withHook(() => {}));
    const memory = await store('first text');
    const stored = queue.stored([memory]);
    const changes = ['second text', 'third text', 'fourth text'].map(async (content) => {
      await storage.update({ namespace: 'default', id: `m${arrivals}`, at: 1, content });
      await queue.changed(memory.ordinal);
    });
    await Promise.all([stored, ...changes]);
    expect(await waiting()).toBe(0);
  });

  it('embeds pending memories after a restart', async () => {
    const stopped = await start(withHook(() => {}));
    await stopped.stop();
    await store('left behind');
    await tested.reopen();
    ({ storage } = tested);
    expect(await waiting()).toBe(1);
    await start(withHook(() => {}));
    await expect.poll(waiting).toBe(0);
  });

  it('resolves stores, reports the failure and retries if the model fails', async () => {
    let broken = true;
    const queue = await start(
      withHook(() => {
        if (broken) throw new Error('model broken');
      }),
    );
    await queue.stored([await store('waits for better times')]);
    expect(queue.health.state).toBe('unavailable');
    expect(events).toContain('embedding_failed');
    expect(await waiting()).toBe(1);
    broken = false;
    await expect.poll(waiting).toBe(0);
    await expect.poll(() => queue.health.state).toBe('ready');
  });

  it('reports a text that cannot be embedded, and embeds the other texts', async () => {
    const queue = await start(
      withHook((texts) => {
        if (texts.includes('poison')) throw new Error('cannot be embedded');
      }),
    );
    await Promise.all(
      (await Promise.all(['before', 'poison', 'after'].map(store))).map((stored) => queue.stored([stored])),
    );
    expect(await waiting()).toBe(0);
    expect(events.filter((event) => event === 'memory_without_vector')).toHaveLength(1);
    expect(queue.health.state).toBe('ready');
  });

  it('returns no query vector and reports the failure if the model fails', async () => {
    const queue = await start(
      withHook((_texts, purpose) => {
        if (purpose === 'query') throw new Error('model broken');
      }),
    );
    expect(await queue.queryVector('anything')).toBeUndefined();
    expect(events).toEqual(['query_embedding_failed']);
  });

  it('embeds memories that another process left without vectors', async () => {
    const queue = await start(withHook(() => {}));
    await store('stored by another process');
    const { ordinal } = await store('stored by this process');
    await storage.update({ namespace: 'default', id: `m${arrivals}`, at: 1, content: 'changed by this process' });
    // A change makes the queue read storage, where the memory of the other process comes first.
    await queue.changed(ordinal);
    expect(await waiting()).toBe(0);
  });

  it('resolves waiting stores when it stops', async () => {
    let stop = (_error: Error) => {};
    let calls = 0;
    const embedder = withHook(() => {
      calls++;
      return new Promise<void>((_resolve, reject) => {
        stop = reject;
      });
    });
    const queue = await start({ ...embedder, close: async () => stop(new Error('closed')) });
    const pending = queue.stored([await store('never embedded')]);
    await expect.poll(() => calls).toBe(1);
    await queue.stop();
    await expect(pending).resolves.toEqual([undefined]);
    expect(await waiting()).toBe(1);
  });

  it('retries to open a model, and reports the problem until the model is open', async () => {
    let away = true;
    const queue = await startOpening(async () => {
      if (away) throw new EmbedderUnavailable('the key is wrong', { option: 'embeddingApiKey' });
      return withHook(() => {});
    });
    expect(queue.health).toEqual({ state: 'unavailable', problem: 'the key is wrong', option: 'embeddingApiKey' });
    expect(events).toEqual(['embedder_unavailable']);
    await queue.stored([await store('the cat sleeps on the sofa')]);
    expect(await queue.queryVector('feline resting')).toBeUndefined();
    away = false;
    await expect.poll(() => queue.health).toEqual({ state: 'ready' });
    await expect.poll(waiting).toBe(0);
    expect(await queue.queryVector('feline resting')).toMatchObject({ modelId: model.modelId });
  });

  it('refuses and reports a model with more dimensions than the database supports', async () => {
    const queue = await start({ ...withHook(() => {}), modelId: 'long', dimensions: storage.maxDimensions + 1 });
    const problem = 'the model makes vectors of 3841 dimensions; the database supports at most 3840';
    expect(queue.health).toEqual({ state: 'unavailable', problem, option: 'embedder' });
    expect(await queue.queryVector('feline resting')).toBeUndefined();
  });

  it('the embedding queue does not expose messages of unexpected errors, which may contain paths', async () => {
    const queue = await startOpening(() => Promise.reject(new Error('/home/ada/model is corrupt')));
    expect(queue.health).toEqual({ state: 'unavailable', problem: 'the model fails; see the log' });
  });

  it('starts without waiting for the model, does not delay stores, and aborts opening the model when it stops', async () => {
    let isAborted = false;
    const queue = await startOpening((signal) => {
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          isAborted = true;
          reject(new Error('given up'));
        });
      });
    });
    expect(queue.health).toEqual({ state: 'unavailable', problem: 'the model is not open yet' });
    await queue.stored([await store('not yet')]);
    await queue.stop();
    expect(isAborted).toBe(true);
    expect(events).toEqual([]);
  });

  it.each([1, 2, 3, 5])('closes a model that was opened %i microtasks before the queue stops', async (microtasks) => {
    let closed = 0;
    let opened: (embedder: Embedder) => void = () => {};
    const queue = new EmbeddingQueue(() => new Promise((resolve) => (opened = resolve)), storage, telemetry);
    const started = queue.start();
    opened({ ...withHook(() => {}), close: async () => void closed++ });
    for (let turn = 0; turn < microtasks; turn++) await Promise.resolve();
    await Promise.all([queue.stop(), started]);
    expect(closed).toBe(1);
  });

  it('sends no queries to an unavailable model until it works again', async () => {
    let away = true;
    const asked: string[] = [];
    const queue = await start(
      withHook((texts, purpose) => {
        asked.push(...(purpose === 'query' ? texts : []));
        if (away) throw new EmbedderUnavailable('nobody there');
      }),
    );
    for (const query of ['one', 'two', 'three']) expect(await queue.queryVector(query)).toBeUndefined();
    expect(asked).toEqual(['one']);
    expect(queue.health).toEqual({ state: 'unavailable', problem: 'nobody there' });
    away = false;
    await expect.poll(() => queue.health.state).toBe('ready');
    expect(await queue.queryVector('two')).toBeDefined();
  });

  it('embeds all memories even if the model is temporarily unavailable', async () => {
    let calls = 0;
    const queue = await start(
      withHook((texts) => {
        if (texts.includes('memory')) return;
        if (++calls % 2 === 1) throw new EmbedderUnavailable('comes and goes');
      }),
    );
    await Promise.all((await Promise.all(['one', 'two', 'three'].map(store))).map((stored) => queue.stored([stored])));
    await expect.poll(waiting).toBe(0);
    expect(events).not.toContain('memory_without_vector');
  });

  it('identifies the text that makes a working model fail', async () => {
    const queue = await start(
      withHook((texts) => {
        if (texts.includes('poison')) throw new EmbedderUnavailable('fails');
      }),
    );
    await Promise.all(
      (await Promise.all(['before', 'poison', 'after'].map(store))).map((stored) => queue.stored([stored])),
    );
    await expect.poll(waiting).toBe(0);
    expect(events.filter((event) => event === 'memory_without_vector')).toHaveLength(1);
  });

  it('computes a query vector once for concurrent queries, and caches it', async () => {
    const asked: string[] = [];
    const queue = await start(withHook((texts) => void asked.push(...texts)));
    const vectors = await Promise.all(['one', 'one', 'two', 'one'].map((query) => queue.queryVector(query)));
    expect(await queue.queryVector('one')).toEqual(vectors[0]);
    expect(vectors[1]).toEqual(vectors[0]);
    expect(vectors[2]).not.toEqual(vectors[0]);
    expect(asked).toEqual(['one', 'two']);
    await queue.queryVector('One');
    expect(asked).toEqual(['one', 'two', 'One']);
  });

  it('the embedding queue does not cache failed query vectors', async () => {
    let broken = true;
    const queue = await start(
      withHook(() => {
        if (broken) throw new Error('model broken');
      }),
    );
    expect(await queue.queryVector('again')).toBeUndefined();
    broken = false;
    expect(await queue.queryVector('again')).toBeDefined();
  });

  it('the embedding queue does not keep long texts in memory because cached queries are substrings of them', async () => {
    const queue = await start(withHook(() => {}));
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc');
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 50; i++) await queue.queryVector(`${i}: who sings?${' '.repeat(1_000_000)}`.trim());
    collect();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(20_000_000);
  });

  it('drops the least recently used query vectors', async () => {
    const asked: string[] = [];
    const queue = await start(withHook((texts) => void asked.push(...texts)));
    for (let i = 0; i <= 1000; i++) await queue.queryVector(`${i}`);
    asked.length = 0;
    await queue.queryVector('1000');
    await queue.queryVector('0');
    expect(asked).toEqual(['0']);
  });
});

describe('a long text in the embedding queue', () => {
  /** Returns a text whose parts have one word each, from `p000` on. */
  const toText = (parts: number) =>
    Array.from({ length: parts }, (_, i) => `p${String(i).padStart(3, '0')} `.repeat(PART_CHARS / 5)).join('');
  const toWords = (text: string) => [...new Set(text.trim().split(' '))];
  const LONG = toText(100);

  /** Returns the model with a hook that gets the words of a call, and can fail. */
  function withPartsHook(before: (parts: readonly string[]) => void | Promise<void>): Embedder {
    return {
      ...model,
      async embed(texts, purpose, maxParts) {
        const embeddings = await model.embed(texts, purpose, maxParts);
        const embedded = texts.map((text, i) => text.slice(0, embeddings[i]?.next));
        if (purpose === 'memory') await before(embedded.flatMap(toWords));
        return embeddings;
      },
    };
  }

  const getRest = async () => {
    const batch = { limit: 1, maxChars: 1, maxReembeddingChars: 1, long: true } as const;
    return (await storage.pendingEmbeddings(model.modelId, batch)).memories[0];
  };

  /** Returns the cosine of a query and the nearest part of a memory; NaN if no part has a vector. */
  async function getCosine(queue: EmbeddingQueue, query: string, { ordinal }: PendingEmbedding): Promise<number> {
    const vector = await queue.queryVector(query);
    const scope = { namespace: 'default', filter: {}, now: 0, poolSize: 10, tailSize: 0 };
    const { ordinals, cosines } = await storage.search({ ...scope, text: query, ...(vector && { vector }) });
    return cosines[ordinals.indexOf(ordinal)] ?? Number.NaN;
  }

  let gates: (() => void)[] = [];
  // A queue stops only after its call of the model.
  afterEach(() => {
    for (const open of gates) open();
  });

  function createGate(): { opened: Promise<void>; open(): void } {
    let open = () => {};
    const opened = new Promise<void>((resolve) => (open = resolve));
    gates = [open];
    return { opened, open };
  }

  it('a long text in the embedding queue is found by its first parts when its store resolves, and by all parts in the end', async () => {
    const gate = createGate();
    const queue = await start(withPartsHook((parts) => (parts.includes('p080') ? gate.opened : undefined)));
    const text = await store(LONG);
    await queue.stored([text]);
    expect(await getCosine(queue, 'p003', text)).toBeCloseTo(1, 2);
    await expect.poll(async () => (await getRest())?.from).toBeGreaterThan(50_000);
    expect(await getCosine(queue, 'p080', text)).toBeLessThan(0.6);
    expect(await storage.stats('default', 0)).toMatchObject({ pendingEmbeddings: 1 });
    gate.open();
    await expect.poll(() => storage.stats('default', 0)).toMatchObject({ pendingEmbeddings: 0 });
    for (const query of ['p003', 'p080', 'p099']) expect(await getCosine(queue, query, text)).toBeCloseTo(1, 2);
  });

  it('a long text in the embedding queue does not delay stores of short texts, even while the model embeds its parts', async () => {
    const gate = createGate();
    const queue = await start(withPartsHook((parts) => (parts.includes('p000') ? gate.opened : undefined)));
    const long = queue.stored([await store(LONG)]);
    const another = queue.stored(await storeAll(Array(10).fill(LONG), { userId: 'ada' }));
    const short = await store('the cat sleeps');
    await queue.stored([short]);
    expect(await getCosine(queue, 'feline', short)).toBeGreaterThan(0.3);
    expect(await storage.stats('default', 0)).toMatchObject({ pendingEmbeddings: 11 });
    gate.open();
    await Promise.all([long, another]);
  });

  it('a long text in the embedding queue is embedded once, part by part, with few writes', async () => {
    const text = toText(400);
    const [seen, calls]: [string[], number[]] = [[], []];
    let writes = 0;
    const counting: Storage = {
      ...storage,
      putVectors(...args) {
        writes++;
        return storage.putVectors(...args);
      },
    };
    await storeAll([text]);
    await startOn(counting, async () =>
      withPartsHook((parts) => {
        seen.push(...parts);
        calls.push(parts.length);
      }),
    );
    await expect.poll(() => storage.stats('default', 0), { timeout: 20_000 }).toMatchObject({ pendingEmbeddings: 0 });
    expect(seen).toEqual(toWords(text));
    expect(Math.max(...calls)).toBe(8);
    expect(writes).toBeLessThan(15);
  });

  it('a long text in the embedding queue is continued after a restart, without embedding its first pieces again', async () => {
    const [text] = (await storeAll([LONG])) as [PendingEmbedding];
    const stopped = await start(
      withPartsHook((parts) => {
        if (parts.includes('p060')) void stopped.stop();
      }),
    );
    await expect.poll(async () => (await getRest())?.from).toBeGreaterThan(16_000);
    await stopped.stop();
    const from = (await getRest())?.from ?? 0;
    const seen: string[] = [];
    const queue = await start(withPartsHook((parts) => void seen.push(...parts)));
    await expect.poll(() => storage.stats('default', 0)).toMatchObject({ pendingEmbeddings: 0 });
    expect(seen).toEqual(toWords(LONG.slice(from)));
    for (const query of ['p000', 'p099']) expect(await getCosine(queue, query, text)).toBeCloseTo(1, 2);
  });

  it('keeps its vectors if the model rejects one of its parts, or fails for a time', async () => {
    let [isBroken, isAway] = [true, false];
    const queue = await start(
      withPartsHook((parts) => {
        if (parts.includes('p030')) throw new Error('cannot be embedded');
        isAway ||= isBroken && parts.includes('p050');
        if (isAway) throw new EmbedderUnavailable('away');
      }),
    );
    const text = await store(LONG);
    await queue.stored([text]);
    await expect.poll(() => queue.health.state).toBe('unavailable');
    expect((await getRest())?.from).toBeGreaterThanOrEqual(40_000);
    [isBroken, isAway] = [false, false];
    await expect.poll(() => storage.stats('default', 0), { timeout: 5000 }).toMatchObject({ pendingEmbeddings: 0 });
    for (const query of ['p029', 'p099']) expect(await getCosine(queue, query, text)).toBeCloseTo(1, 2);
    expect(await getCosine(queue, 'p030', text)).toBeLessThan(0.6);
    expect(events.filter((event) => event === 'memory_without_vector')).toHaveLength(1);
  });
});
