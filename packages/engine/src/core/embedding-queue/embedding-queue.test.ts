import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Embedder, EmbedderUnavailable, type EmbedPurpose, type OpenEmbedder } from '../../ports/embedder.ts';
import { newMemory } from '../../ports/new-memory.fixture.ts';
import type { TelemetryEvent } from '../../ports/runtime.ts';
import { testedStorage } from '../../ports/storage.fixture.ts';
import type { Storage } from '../../ports/storage.ts';
import type { PendingEmbedding } from '../../ports/storage-vectors.ts';
import { openNewSqlite } from '../../storage/sqlite/open.fixture.ts';
import { EmbeddingQueue } from './embedding-queue.ts';

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

/** Words that mean the same. */
const MEANINGS: Record<string, string> = { feline: 'cat', resting: 'sleeps' };

/** Returns the sum of a vector for each word, so that texts are near as far as they share words or meanings. */
function getVector(text: string): Float32Array {
  const sum = new Float32Array(64);
  for (const word of text.toLowerCase().split(' ')) {
    const bytes = createHash('sha512')
      .update(MEANINGS[word] ?? word)
      .digest();
    for (const [place, byte] of bytes.entries()) sum[place] = (sum[place] as number) + byte - 127.5;
  }
  const length = Math.hypot(...sum);
  return sum.map((component) => component / length);
}

const model: Embedder = {
  modelId: 'hashed-words',
  dimensions: 64,
  largestBatch: 64,
  embed: async (texts) => texts.map((text) => ({ vectors: [getVector(text)] })),
  close: async () => {},
};

/** The model, with a chance to look at or fail each call. */
function faulty(before: (texts: readonly string[], purpose: EmbedPurpose) => void | Promise<void>): Embedder {
  return {
    modelId: model.modelId,
    dimensions: model.dimensions,
    largestBatch: model.largestBatch,
    async embed(texts, purpose) {
      await before(texts, purpose);
      return model.embed(texts, purpose);
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

/** The storage, and how often it has told which memories are pending. */
function countingLooks(): { looks(): number; storage: Storage } {
  let count = 0;
  const watched: Storage = {
    ...storage,
    async pendingEmbeddings(...args) {
      const pending = await storage.pendingEmbeddings(...args);
      count++;
      return pending;
    },
  };
  return { looks: () => count, storage: watched };
}

let arrivals = 0;

/** Stores memories in one commit, and returns them as they are pending. */
async function keepAll(contents: readonly string[]): Promise<PendingEmbedding[]> {
  const memories = contents.map((content) => newMemory({ id: `m${++arrivals}`, content, createdAt: arrivals }));
  return (await storage.storeMany(memories)).map((stored, i) => {
    if (stored.outcome !== 'stored') throw new Error(stored.outcome);
    return { ordinal: stored.ordinal, revision: 1, content: contents[i] as string };
  });
}
const keep = async (content: string) => (await keepAll([content]))[0] as PendingEmbedding;
const numbered = (count: number, name = 'text') => Array.from({ length: count }, (_, i) => `${name} ${i}`);

const waiting = async () =>
  (await storage.pendingEmbeddings(model.modelId, { limit: 1, maxChars: 1, maxCharsAnew: 1 })).waiting;

describe('the embedding queue', () => {
  it('lets a store wait until its memory is found by meaning', async () => {
    const queue = await start(faulty(() => {}));
    const kept = await keep('the cat sleeps on the sofa');
    await queue.stored([kept]);
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
    expect(signals.ordinals[0]).toBe(kept.ordinal);
    expect(signals.cosines[0]).toBeGreaterThan(0.3);
  });

  it('reads no text from storage that was just stored', async () => {
    const { looks, storage: watched } = countingLooks();
    const queue = await startOn(watched, async () => faulty(() => {}));
    await expect.poll(looks).toBe(1);
    for (const text of ['one', 'another']) await queue.stored([await keep(text)]);
    expect(looks()).toBe(1);
    expect(await waiting()).toBe(0);
  });

  it('embeds in order of arrival', async () => {
    const seen: string[] = [];
    await keepAll(numbered(70));
    await start(faulty((texts) => void seen.push(...texts)));
    await expect.poll(waiting).toBe(0);
    expect(seen).toEqual(numbered(70));
  });

  it('embeds what has come last long before its turn where a long history waits', async () => {
    const seen: string[] = [];
    await keepAll(numbered(700));
    await start(faulty((texts) => void seen.push(...texts)));
    await expect.poll(waiting).toBe(0);
    expect(seen.slice(0, 500)).toEqual(numbered(500));
    expect(seen.indexOf('text 699')).toBeLessThan(600);
    expect([...seen].sort()).toEqual(numbered(700).sort());
  });

  it('lets a store wait for its own vector, and not for those that others are given anew', async () => {
    await keepAll(numbered(70));
    const before = await start({ ...faulty(() => {}), modelId: 'another-model' });
    await expect.poll(() => storage.stats('default', 0)).toMatchObject({ pendingEmbeddings: 0 });
    await before.stop();
    const batches: number[] = [];
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const queue = await start(
      faulty((texts) => {
        batches.push(texts.length);
        return gate;
      }),
    );
    await expect.poll(() => batches).toEqual([32]);
    const stored = queue.stored([await keep('the last')]);
    go();
    await stored;
    expect(batches.slice(0, 2)).toEqual([32, 1]);
    await expect.poll(() => storage.stats('default', 0)).toMatchObject({ pendingEmbeddings: 0 });
  });

  it('lets no store wait while more than 64 memories do', async () => {
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    let calls = 0;
    const { looks, storage: watched } = countingLooks();
    const queue = await startOn(watched, async () =>
      faulty(() => {
        calls++;
        return gate;
      }),
    );
    // The first look finds nothing; a later one would count the memories stored meanwhile.
    await expect.poll(looks).toBe(1);
    let answered = 0;
    const stores: Promise<unknown>[] = [];
    const keepAndAdd = async (text: string) => {
      const kept = await keep(text);
      stores.push(queue.stored([kept]).then(() => answered++));
    };
    await keepAndAdd('the first');
    // From here on the model holds the queue up, so nothing is counted but what is added.
    await expect.poll(() => calls).toBe(1);
    for (let i = 1; i < 70; i++) await keepAndAdd(`text ${i}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(answered).toBe(6);
    go();
    await Promise.all(stores);
    await expect.poll(waiting).toBe(0);
  });

  it('embeds a batch while the vectors of the one before it are kept, and no more than one ahead', async () => {
    await keepAll(numbered(150));
    const done: string[] = [];
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const slow: Storage = {
      ...storage,
      async putVectors(modelId, vectors) {
        done.push('keep');
        if (done.filter((what) => what === 'keep').length === 2) await gate;
        return storage.putVectors(modelId, vectors);
      },
    };
    await startOn(slow, async () => faulty(() => void done.push('embed')));
    await expect.poll(() => done).toEqual(['embed', 'keep', 'embed', 'keep', 'embed']);
    await delay(50);
    expect(done).toHaveLength(5);
    go();
    await expect.poll(waiting).toBe(0);
  });

  it('embeds again what could not be kept, and stops only when nothing is being kept', async () => {
    await keepAll(numbered(150));
    let kept = 0;
    let keeping = 0;
    const failing: Storage = {
      ...storage,
      async putVectors(modelId, vectors) {
        if (++kept === 3) throw new Error('the disk is full');
        keeping++;
        await delay(20);
        const written = await storage.putVectors(modelId, vectors);
        keeping--;
        return written;
      },
    };
    const queue = await startOn(failing, async () => faulty(() => {}));
    await expect.poll(waiting, { timeout: 5000 }).toBe(0);
    expect(events).toEqual(['vectors_not_kept']);
    await keepAll(numbered(150, 'another'));
    queue.look();
    await expect.poll(() => keeping).toBe(1);
    await queue.stop();
    expect(keeping).toBe(0);
  });

  it('gives way to memories that are being stored, and goes on when they are', async () => {
    await keepAll(numbered(100));
    const done: string[] = [];
    const slow = faulty(async () => {
      // So that it would give way for most of a second.
      if (done.length === 0) {
        await delay(300);
        queues[0]?.giveWayTo(delay(100).then(() => done.push('stored')));
      }
      done.push('embedded');
    });
    await start(slow);
    await expect.poll(waiting, { timeout: 5000 }).toBe(0);
    expect(done.slice(0, 3)).toEqual(['embedded', 'stored', 'embedded']);
  });

  it('goes on beside stores that never end, and gives no way where a store waits for its vector', async () => {
    const queue = await start(faulty(() => {}));
    queue.giveWayTo(new Promise(() => {}));
    await keepAll(numbered(100));
    queue.look();
    await queue.stored([await keep('waited for')]);
    await expect.poll(waiting, { timeout: 5000 }).toBe(0);
  });

  it('answers queries by meaning, and lets no store wait, while nothing can be kept', async () => {
    const ordinal = await keep('text');
    let isFull = true;
    const failing: Storage = {
      ...storage,
      putVectors: (...args) => (isFull ? Promise.reject(new Error('the disk is full')) : storage.putVectors(...args)),
    };
    const queue = await startOn(failing, async () => faulty(() => {}));
    await expect.poll(() => events).toContain('vectors_not_kept');
    expect(queue.health).toEqual({ state: 'ready' });
    expect(await queue.queryVector('anything')).toBeDefined();
    await queue.stored([ordinal]);
    isFull = false;
    await expect.poll(waiting, { timeout: 5000 }).toBe(0);
  });

  it('lets many memories that come at once wait for their vectors, but not more than 64', async () => {
    const queue = await start(faulty(() => {}));
    const few = await keepAll(numbered(30, 'few'));
    await queue.stored(few);
    expect(await waiting()).toBe(0);
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const held = await start(faulty(() => gate));
    const many = await keepAll(numbered(65, 'many'));
    await held.stored(many);
    go();
    await expect.poll(waiting).toBe(0);
  });

  it('lets some memories of a page each wait for their vectors', async () => {
    const queue = await start(faulty(() => {}));
    const page = 'word '.repeat(200);
    const pages = await keepAll(Array(30).fill(page));
    await queue.stored(pages);
    expect(await waiting()).toBe(0);
  });

  it('lets a text that is longer than a batch, and what is stored behind it, wait for their vectors', async () => {
    const queue = await start(faulty(() => delay(200)));
    const answered = [queue.stored([await keep('word '.repeat(4000))]), queue.stored([await keep('short')])];
    await Promise.all(answered);
    expect(await waiting()).toBe(0);
  });

  it('answers every one of several changes of one memory, when the newest text has its vector', async () => {
    const queue = await start(faulty(() => {}));
    const kept = await keep('first text');
    const stored = queue.stored([kept]);
    const changes = ['second text', 'third text', 'fourth text'].map(async (content) => {
      await storage.update({ namespace: 'default', id: `m${arrivals}`, at: 1, content });
      await queue.changed(kept.ordinal);
    });
    await Promise.all([stored, ...changes]);
    expect(await waiting()).toBe(0);
  });

  it('goes on after a restart with what was waiting', async () => {
    const stopped = await start(faulty(() => {}));
    await stopped.stop();
    await keep('left behind');
    await tested.reopen();
    ({ storage } = tested);
    expect(await waiting()).toBe(1);
    await start(faulty(() => {}));
    await expect.poll(waiting).toBe(0);
  });

  it('answers stores, says so and tries again when the model fails', async () => {
    let broken = true;
    const queue = await start(
      faulty(() => {
        if (broken) throw new Error('model broken');
      }),
    );
    await queue.stored([await keep('waits for better times')]);
    expect(queue.health.state).toBe('unavailable');
    expect(events).toContain('embedding_failed');
    expect(await waiting()).toBe(1);
    broken = false;
    await expect.poll(waiting).toBe(0);
    await expect.poll(() => queue.health.state).toBe('ready');
  });

  it('does not let a text that cannot be embedded keep others waiting, and says which kind of loss it was', async () => {
    const queue = await start(
      faulty((texts) => {
        if (texts.includes('poison')) throw new Error('cannot be embedded');
      }),
    );
    await Promise.all((await Promise.all(['before', 'poison', 'after'].map(keep))).map((kept) => queue.stored([kept])));
    expect(await waiting()).toBe(0);
    expect(events.filter((event) => event === 'memory_without_vector')).toHaveLength(1);
    expect(queue.health.state).toBe('ready');
  });

  it('answers a query without a vector, and says so, when the model fails on it', async () => {
    const queue = await start(
      faulty((_texts, purpose) => {
        if (purpose === 'query') throw new Error('model broken');
      }),
    );
    expect(await queue.queryVector('anything')).toBeUndefined();
    expect(events).toEqual(['query_embedding_failed']);
  });

  it('embeds what another process has left without vectors', async () => {
    const queue = await start(faulty(() => {}));
    await keep('stored by another process');
    const { ordinal } = await keep('stored by this process');
    await storage.update({ namespace: 'default', id: `m${arrivals}`, at: 1, content: 'changed by this process' });
    // A change makes the queue look in storage, where the memory of the other process comes first.
    await queue.changed(ordinal);
    expect(await waiting()).toBe(0);
  });

  it('lets go of whoever waits when it stops', async () => {
    let stop = (_error: Error) => {};
    let calls = 0;
    const embedder = faulty(() => {
      calls++;
      return new Promise<void>((_resolve, reject) => {
        stop = reject;
      });
    });
    const queue = await start({ ...embedder, close: async () => stop(new Error('closed')) });
    const store = queue.stored([await keep('never embedded')]);
    await expect.poll(() => calls).toBe(1);
    await queue.stop();
    await expect(store).resolves.toBeUndefined();
    expect(await waiting()).toBe(1);
  });

  it('opens a model later that cannot be opened at once, and says meanwhile why', async () => {
    let away = true;
    const queue = await startOpening(async () => {
      if (away) throw new EmbedderUnavailable('the key is wrong', { option: 'embeddingApiKey' });
      return faulty(() => {});
    });
    expect(queue.health).toEqual({ state: 'unavailable', problem: 'the key is wrong', option: 'embeddingApiKey' });
    expect(events).toEqual(['embedder_unavailable']);
    await queue.stored([await keep('the cat sleeps on the sofa')]);
    expect(await queue.queryVector('feline resting')).toBeUndefined();
    away = false;
    await expect.poll(() => queue.health).toEqual({ state: 'ready' });
    await expect.poll(waiting).toBe(0);
    expect(await queue.queryVector('feline resting')).toMatchObject({ modelId: model.modelId });
  });

  it('does not use a model whose vectors are too long to be searched, and says so', async () => {
    const queue = await start({ ...faulty(() => {}), modelId: 'long', dimensions: storage.mostDimensions + 1 });
    const problem = 'the model makes vectors of 3841 numbers, where at most 3840 can be searched';
    expect(queue.health).toEqual({ state: 'unavailable', problem, option: 'embedder' });
    expect(await queue.queryVector('feline resting')).toBeUndefined();
  });

  it('tells no more of an error than that there is one, since it may name paths', async () => {
    const queue = await startOpening(() => Promise.reject(new Error('/home/ada/model is damaged')));
    expect(queue.health).toEqual({ state: 'unavailable', problem: 'the model fails, as the log says' });
  });

  it('starts while the model is still opening, lets no store wait for it, and gives it up when it stops', async () => {
    let given = false;
    const queue = await startOpening((signal) => {
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          given = true;
          reject(new Error('given up'));
        });
      });
    });
    expect(queue.health).toEqual({ state: 'unavailable', problem: 'the model is not open yet' });
    await queue.stored([await keep('not yet')]);
    await queue.stop();
    expect(given).toBe(true);
    expect(events).toEqual([]);
  });

  it.each([1, 2, 3, 5])('closes a model that opens while it stops, %i turns before', async (turns) => {
    let closed = 0;
    let opened: (embedder: Embedder) => void = () => {};
    const queue = new EmbeddingQueue(() => new Promise((resolve) => (opened = resolve)), storage, telemetry);
    const started = queue.start();
    opened({ ...faulty(() => {}), close: async () => void closed++ });
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    await Promise.all([queue.stop(), started]);
    expect(closed).toBe(1);
  });

  it('asks a model that was away for no further query until it has shown that it works', async () => {
    let away = true;
    const asked: string[] = [];
    const queue = await start(
      faulty((texts, purpose) => {
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

  it('leaves no memory without a vector because the model was away', async () => {
    let calls = 0;
    const queue = await start(
      faulty((texts) => {
        if (texts.includes('memory')) return;
        if (++calls % 2 === 1) throw new EmbedderUnavailable('comes and goes');
      }),
    );
    await Promise.all((await Promise.all(['one', 'two', 'three'].map(keep))).map((kept) => queue.stored([kept])));
    await expect.poll(waiting).toBe(0);
    expect(events).not.toContain('memory_without_vector');
  });

  it('finds out which text makes a model fail that otherwise works', async () => {
    const queue = await start(
      faulty((texts) => {
        if (texts.includes('poison')) throw new EmbedderUnavailable('fails');
      }),
    );
    await Promise.all((await Promise.all(['before', 'poison', 'after'].map(keep))).map((kept) => queue.stored([kept])));
    await expect.poll(waiting).toBe(0);
    expect(events.filter((event) => event === 'memory_without_vector')).toHaveLength(1);
  });

  it('computes the vector of a query once for all who ask it at the same time, and keeps it', async () => {
    const asked: string[] = [];
    const queue = await start(faulty((texts) => void asked.push(...texts)));
    const vectors = await Promise.all(['one', 'one', 'two', 'one'].map((query) => queue.queryVector(query)));
    expect(await queue.queryVector('one')).toEqual(vectors[0]);
    expect(vectors[1]).toEqual(vectors[0]);
    expect(vectors[2]).not.toEqual(vectors[0]);
    expect(asked).toEqual(['one', 'two']);
    await queue.queryVector('One');
    expect(asked).toEqual(['one', 'two', 'One']);
  });

  it('keeps no failure', async () => {
    let broken = true;
    const queue = await start(
      faulty(() => {
        if (broken) throw new Error('model broken');
      }),
    );
    expect(await queue.queryVector('again')).toBeUndefined();
    broken = false;
    expect(await queue.queryVector('again')).toBeDefined();
  });

  it('keeps of what queries were cut out of nothing but the queries', async () => {
    const queue = await start(faulty(() => {}));
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc');
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 50; i++) await queue.queryVector(`${i}: who sings?${' '.repeat(1_000_000)}`.trim());
    collect();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(20_000_000);
  });

  it('forgets the queries that were asked longest ago', async () => {
    const asked: string[] = [];
    const queue = await start(faulty((texts) => void asked.push(...texts)));
    for (let i = 0; i <= 1000; i++) await queue.queryVector(`${i}`);
    asked.length = 0;
    await queue.queryVector('1000');
    await queue.queryVector('0');
    expect(asked).toEqual(['0']);
  });
});
