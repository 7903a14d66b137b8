import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openMiniLm } from '../embedding/minilm/open.ts';
import type { Embedder, EmbedPurpose } from '../ports/embedder.ts';
import type { Storage } from '../ports/storage.ts';
import type { TelemetryEvent } from '../ports/telemetry.ts';
import { openSqlite } from '../storage/sqlite/open.ts';
import { EmbeddingQueue } from './embedding-queue.ts';

let folder: string;
let path: string;
let storage: Storage;
let model: Embedder;
let queues: EmbeddingQueue[];
let events: string[];
const telemetry = { report: ({ event }: TelemetryEvent) => void events.push(event) };

beforeAll(async () => {
  model = await openMiniLm();
});
afterAll(() => model.close());

beforeEach(async () => {
  events = [];
  queues = [];
  folder = await mkdtemp(join(tmpdir(), 'memoryd-'));
  path = join(folder, 'memory.db');
  ({ storage } = await openSqlite({ path, workingMax: 10_000 }));
});
afterEach(async () => {
  for (const queue of queues) await queue.stop();
  await storage.close();
  await rm(folder, { recursive: true });
});

/** The model, with a chance to look at or fail each call; closing it is left to the end of all tests. */
function faulty(before: (texts: readonly string[], purpose: EmbedPurpose) => void | Promise<void>): Embedder {
  return {
    modelId: model.modelId,
    dimensions: model.dimensions,
    largestBatch: model.largestBatch,
    async embed(texts, purpose) {
      await before(texts, purpose);
      return model.embed(texts, purpose);
    },
    close: async () => {},
  };
}

async function start(embedder: Embedder): Promise<EmbeddingQueue> {
  const queue = new EmbeddingQueue(embedder, storage, telemetry);
  queues.push(queue);
  await queue.start();
  return queue;
}

let arrivals = 0;

async function keep(content: string): Promise<number> {
  const stored = await storage.store({
    namespace: 'default',
    id: `m${++arrivals}`,
    content,
    tags: [],
    importance: 0.5,
    source: 'api',
    sessionId: 'default',
    metadata: {},
    createdAt: arrivals,
    storedAt: arrivals,
    expiresAt: null,
    supersedes: null,
  });
  if (stored.outcome !== 'stored') throw new Error(stored.outcome);
  return stored.ordinal;
}

const waiting = async () =>
  (await storage.pendingEmbeddings(model.modelId, { limit: 1, maxChars: 1 })).waiting.memories;

describe('the embedding queue', () => {
  it('lets a store wait until its memory is found by meaning', async () => {
    const queue = await start(faulty(() => {}));
    const ordinal = await keep('the cat sleeps on the sofa');
    await queue.added(ordinal, 20);
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
    expect(signals.ordinals[0]).toBe(ordinal);
    expect(signals.cosines[0]).toBeGreaterThan(0.3);
  });

  it('embeds in order of arrival', async () => {
    const seen: string[] = [];
    for (let i = 0; i < 70; i++) await keep(`text ${i}`);
    await start(faulty((texts) => void seen.push(...texts)));
    await expect.poll(waiting, { timeout: 10_000 }).toBe(0);
    expect(seen).toEqual(Array.from({ length: 70 }, (_, i) => `text ${i}`));
  });

  it('lets no store wait while more than 64 memories do', async () => {
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const queue = await start(faulty(() => gate));
    const ordinals = [];
    for (let i = 0; i < 70; i++) ordinals.push(await keep(`text ${i}`));
    let answered = 0;
    const stores = ordinals.map((ordinal) => queue.added(ordinal, 20).then(() => answered++));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(answered).toBe(6);
    go();
    await Promise.all(stores);
    await expect.poll(waiting, { timeout: 10_000 }).toBe(0);
  });

  it('lets many memories that come at once wait for their vectors, but not more than 64', async () => {
    const queue = await start(faulty(() => {}));
    const few = [];
    for (let i = 0; i < 40; i++) few.push(await keep(`few ${i}`));
    await queue.added(few.at(-1) as number, 200, 40);
    expect(await waiting()).toBe(0);
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const held = await start(faulty(() => gate));
    const many = [];
    for (let i = 0; i < 65; i++) many.push(await keep(`many ${i}`));
    await held.added(many.at(-1) as number, 500, 65);
    go();
    await expect.poll(waiting, { timeout: 10_000 }).toBe(0);
  });

  it('lets no store wait behind a text as long as a book', async () => {
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const queue = await start(faulty(() => gate));
    const book = 'word '.repeat(20_000);
    await queue.added(await keep(book), book.length);
    await queue.added(await keep('short'), 5);
    go();
    expect(await waiting()).toBeGreaterThan(0);
  });

  it('answers every one of several changes of one memory, when the newest text has its vector', async () => {
    const queue = await start(faulty(() => {}));
    const ordinal = await keep('first text');
    const stored = queue.added(ordinal, 10);
    const changes = ['second text', 'third text', 'fourth text'].map(async (content) => {
      await storage.update({ namespace: 'default', id: `m${arrivals}`, at: 1, content });
      await queue.added(ordinal, content.length);
    });
    await Promise.all([stored, ...changes]);
    expect(await waiting()).toBe(0);
  });

  it('goes on after a restart with what was waiting', async () => {
    const stopped = await start(faulty(() => {}));
    await stopped.stop();
    await keep('left behind');
    await storage.close();
    ({ storage } = await openSqlite({ path, workingMax: 10_000 }));
    expect(await waiting()).toBe(1);
    await start(faulty(() => {}));
    await expect.poll(waiting, { timeout: 10_000 }).toBe(0);
  });

  it('answers stores, says so and tries again when the model fails', async () => {
    let broken = true;
    const queue = await start(
      faulty(() => {
        if (broken) throw new Error('model broken');
      }),
    );
    await queue.added(await keep('waits for better times'), 20);
    expect(queue.state).toBe('unavailable');
    expect(events).toContain('embedding_failed');
    expect(await waiting()).toBe(1);
    broken = false;
    await expect.poll(waiting, { timeout: 10_000 }).toBe(0);
    await expect.poll(() => queue.state).toBe('ready');
  });

  it('does not let a text that cannot be embedded keep others waiting, and says which kind of loss it was', async () => {
    const queue = await start(
      faulty((texts) => {
        if (texts.includes('poison')) throw new Error('cannot be embedded');
      }),
    );
    await Promise.all((await Promise.all(['before', 'poison', 'after'].map(keep))).map((o) => queue.added(o, 20)));
    expect(await waiting()).toBe(0);
    expect(events.filter((event) => event === 'memory_without_vector')).toHaveLength(1);
    expect(queue.state).toBe('ready');
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
    // Its own next memory wakes the queue, and order of arrival does the rest.
    await queue.added(await keep('stored by this process'), 20);
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
    const store = queue.added(await keep('never embedded'), 20);
    await expect.poll(() => calls).toBe(1);
    await queue.stop();
    await expect(store).resolves.toBeUndefined();
    expect(await waiting()).toBe(1);
  });
});
