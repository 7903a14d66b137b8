import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Storage } from '@memoryd/core';
import type { Embedder } from '@memoryd/core/models';
import { EmbeddingQueue } from '@memoryd/core/operations';
import type { TelemetryEvent } from '@memoryd/core/ports';
import { openSqlite } from '@memoryd/sqlite';
import { openNewSqlite } from '@memoryd/sqlite/testing';
import { newMemory, testedStorage } from '@memoryd/suites';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type EmbeddingServer, startEmbeddingServer } from './embedding-server.fixture.ts';
import { openOpenAiCompatible } from './openai-compatible.ts';

let servers: EmbeddingServer[];
let processes: Process[];
let arrivals: number;

beforeEach(() => {
  servers = [];
  processes = [];
  arrivals = 0;
});
afterEach(async () => {
  for (const one of processes) await one.end();
  for (const server of servers) await server.close();
});

/** Creates a model with a name and a number of dimensions, on its own server. */
async function model(name: string, dimensions: number): Promise<EmbeddingServer> {
  const server = await startEmbeddingServer();
  Object.assign(server, { model: name, dimensions });
  servers.push(server);
  return server;
}

/** One process on the database, with its own queue. */
class Process {
  readonly events: TelemetryEvent[] = [];
  readonly storage: Storage;
  readonly queue: EmbeddingQueue;
  readonly #before: (texts: readonly string[]) => void | Promise<void>;
  #ended = false;

  private constructor(
    storage: Storage,
    { url, model }: EmbeddingServer,
    before: (texts: readonly string[]) => unknown,
  ) {
    this.storage = storage;
    this.#before = async (texts) => void (await before(texts));
    const telemetry = { report: (event: TelemetryEvent) => void this.events.push(event) };
    const open = async (signal: AbortSignal) => this.#watched(await openOpenAiCompatible({ url, model }, signal));
    this.queue = new EmbeddingQueue(open, storage, telemetry);
  }

  /** @param before awaited before memories are embedded */
  static async start(
    storage: Storage,
    server: EmbeddingServer,
    before: (texts: readonly string[]) => void | Promise<void> = () => {},
  ): Promise<Process> {
    const one = new Process(storage, server, before);
    processes.push(one);
    await one.queue.start();
    return one;
  }

  #watched(embedder: Embedder): Embedder {
    return {
      modelId: embedder.modelId,
      dimensions: embedder.dimensions,
      maxBatchSize: embedder.maxBatchSize,
      // The tests count the texts that are embedded.
      hasUsualCosines: true,
      embed: async (texts, ...call) => {
        if (call[0] === 'memory') await this.#before(texts);
        return embedder.embed(texts, ...call);
      },
      close: () => embedder.close(),
    };
  }

  async store(content: string): Promise<number> {
    const [ordinal] = (await storeAll(this.storage, [content])) as [number];
    await this.queue.stored([{ ordinal, revision: 1, content }]);
    return ordinal;
  }

  /** Returns the ordinals of candidates with their cosines, highest first; NaN for candidates by words only. */
  async find(query: string): Promise<Map<number, number>> {
    const vector = await this.queue.queryVector(query);
    const scope = { namespace: 'default', filter: {}, now: 0, poolSize: 1000, tailSize: 0 };
    const { ordinals, cosines, candidateCount } = await this.storage.search({
      ...scope,
      text: query,
      ...(vector && { vector }),
    });
    const found = Array.from(
      ordinals.slice(0, candidateCount),
      (ordinal, i) => [ordinal, cosines[i] as number] as const,
    );
    return new Map(found.sort((a, b) => b[1] - a[1]));
  }

  async embedded(): Promise<void> {
    await expect.poll(async () => (await this.embedding()).waiting).toBe(0);
  }

  async embedding() {
    const { embedding, pendingEmbeddings: waiting } = await this.storage.stats('default', 0);
    return { ...embedding, waiting };
  }

  reported(event: string): TelemetryEvent[] {
    return this.events.filter((one) => one.event === event);
  }

  async end(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    await this.queue.stop();
  }
}

const CAT = 'The cat sleeps beneath our stove.';
const FERRY = 'The ferry leaves at seven.';

/** Stores memories in one commit, and returns their ordinals. */
async function storeAll(storage: Storage, contents: readonly string[]): Promise<number[]> {
  const memories = contents.map((content) => newMemory({ id: `m${++arrivals}`, content, createdAt: arrivals }));
  return (await storage.storeMany(memories)).map((stored) => {
    if (stored.outcome !== 'stored') throw new Error(stored.outcome);
    return stored.ordinal;
  });
}

/** Fills a database with embedded memories: the cat first, the ferry last, and others between them. */
async function fill(
  storage: Storage,
  server: EmbeddingServer,
  others: number,
): Promise<{ cat: number; ferry: number }> {
  const entries = Array.from({ length: others }, (_, i) => `Entry ${i} of the harbour log.`);
  const ordinals = await storeAll(storage, [CAT, ...entries, FERRY]);
  const one = await Process.start(storage, server);
  await one.embedded();
  await one.end();
  return { cat: ordinals[0] as number, ferry: ordinals.at(-1) as number };
}

const first = async (found: Promise<Map<number, number>>) => [...(await found).keys()][0];

describe('a process with another embedding model than before', () => {
  const tested = testedStorage(openNewSqlite(10_000));

  it.each([
    ['other dimensions', 512],
    ['equal dimensions', 256],
  ])(
    'recalls by words and re-embedded memories, and never by old vectors, if the new model has %s',
    async (_, dimensions) => {
      const { cat, ferry } = await fill(tested.storage, await model('before', 256), 60);
      await tested.reopen();
      let go = () => {};
      const gate = new Promise<void>((resolve) => (go = resolve));
      let batches = 0;
      const one = await Process.start(tested.storage, await model('after', dimensions), () =>
        ++batches > 1 ? gate : undefined,
      );
      await expect.poll(() => batches).toBe(2);
      expect(await one.embedding()).toMatchObject({ modelId: expect.stringMatching('after'), embedded: 32, total: 62 });
      expect(one.queue.health).toEqual({ state: 'ready' });

      const byMeaning = await one.find('feline');
      expect([...byMeaning.keys()][0]).toBe(cat);
      expect([...byMeaning.values()].filter((cosine) => !Number.isNaN(cosine)).length).toBeLessThanOrEqual(32);
      const byWords = await one.find('ferry');
      expect([...byWords.keys()]).toContain(ferry);
      expect(byWords.get(ferry)).toBeNaN();
      expect((await one.find('vessel timetable')).has(ferry)).toBe(false);

      go();
      await one.embedded();
      expect(await first(one.find('vessel'))).toBe(ferry);
      expect(await one.storage.integrity()).toEqual([]);
    },
  );

  it('embeds new and changed memories before it re-embeds the other memories', async () => {
    const { cat } = await fill(tested.storage, await model('before', 256), 80);
    const embedded: string[] = [];
    let go = () => {};
    const gate = new Promise<void>((resolve) => (go = resolve));
    const one = await Process.start(tested.storage, await model('after', 512), (texts) => {
      embedded.push(...texts);
      return gate;
    });
    await expect.poll(() => embedded.length).toBe(32);
    const content = 'A vessel is expected.';
    const [arrived] = (await storeAll(one.storage, [content])) as [number];
    const stored = one.queue.stored([{ ordinal: arrived, revision: 1, content }]);
    await one.storage.update({ namespace: 'default', id: 'm82', at: 1, content: 'The ferry leaves at eight.' });
    go();
    await stored;
    await one.embedded();
    expect(embedded.slice(32, 34)).toEqual([content, 'The ferry leaves at eight.']);
    expect(embedded).toHaveLength(83);
    expect(embedded[0]).toBe(CAT);
    expect(await first(one.find('boat expected'))).toBe(arrived);
    expect(await first(one.find('feline'))).toBe(cat);
  });

  it('reports the start, progress and end of re-embedding', async () => {
    await fill(tested.storage, await model('before', 256), 198);
    const server = await model('after', 512);
    const one = await Process.start(tested.storage, server);
    await one.store('Something new.');
    await one.embedded();
    await expect.poll(() => one.reported('reembedding_completed')).toHaveLength(1);
    const told = one.events.map(({ event, facts }) => [event, facts?.memories, facts?.embedded]);
    const advanced = told.slice(1, -1);
    expect(told[0]).toEqual(['reembedding_started', 200, undefined]);
    expect(advanced.length).toBeGreaterThan(3);
    expect(advanced.length).toBeLessThan(10);
    expect(advanced.every(([event, memories]) => event === 'reembedding_advanced' && memories === 200)).toBe(true);
    expect(told.at(-1)).toEqual(['reembedding_completed', undefined, 200]);
    for (const { facts } of one.events) expect(facts?.model).toMatch(/^openai:after@/);
    expect(one.events.at(-1)?.facts?.embedded_per_second).toBeGreaterThan(0);
  });

  it('resumes re-embedding after a restart, and reports the number of remaining memories', async () => {
    await fill(tested.storage, await model('before', 256), 62);
    const server = await model('after', 512);
    let batches = 0;
    const stopped = await Process.start(tested.storage, server, () => {
      if (++batches > 1) throw new Error('no more');
    });
    await expect.poll(() => batches).toBeGreaterThan(1);
    await stopped.end();
    const embedded: string[] = [];
    const one = await Process.start(tested.storage, server, (texts) => void embedded.push(...texts));
    expect(one.reported('reembedding_started')[0]?.facts).toMatchObject({ memories: 32 });
    await one.embedded();
    expect(embedded).toHaveLength(32);
  });

  it('uses the remaining vectors of the model again if the database had that model earlier', async () => {
    const before = await model('before', 256);
    const { cat, ferry } = await fill(tested.storage, before, 60);
    let batches = 0;
    const gone = await Process.start(tested.storage, await model('after', 512), () => {
      if (++batches > 1) throw new Error('no more');
    });
    await expect.poll(() => batches).toBeGreaterThan(1);
    await gone.end();
    const embedded: string[] = [];
    const one = await Process.start(tested.storage, before, (texts) => void embedded.push(...texts));
    await one.embedded();
    expect(embedded).toHaveLength(32);
    expect(await first(one.find('feline'))).toBe(cat);
    expect(await first(one.find('vessel'))).toBe(ferry);
    expect(await one.embedding()).toMatchObject({ modelId: expect.stringMatching('before'), embedded: 62, total: 62 });
  });

  it('reports no re-embedding if no memory had vectors', async () => {
    const one = await Process.start(tested.storage, await model('only', 256));
    await one.store(CAT);
    expect(one.events).toEqual([]);
  });
});

describe('two processes with different models on one database', () => {
  let folder: string;
  let storages: [Storage, Storage, Storage];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'memoryd-'));
    const open = async () => (await openSqlite({ path: join(folder, 'memory.db'), workingMax: 10_000 })).storage;
    storages = [await open(), await open(), await open()];
  });
  afterEach(() => storages[0].deleteNamespace('default'));
  afterAll(async () => {
    for (const storage of storages) await storage.close();
    await rm(folder, { recursive: true });
  });

  it('two processes with different models on one database use the model that was opened last, and the process with the other model reports this and recalls by words', async () => {
    const { cat, ferry } = await fill(storages[0], await model('before', 256), 10);
    const earlier = await Process.start(storages[0], await model('before', 256));
    const later = await Process.start(storages[1], await model('after', 512));
    await later.embedded();
    earlier.queue.look();
    await expect
      .poll(() => earlier.queue.health)
      .toEqual({
        state: 'unavailable',
        problem: 'another process has since opened the database with another model',
        option: 'embedder',
      });
    expect([...(await earlier.find('ferry')).keys()]).toEqual([ferry]);
    expect((await earlier.find('vessel')).size).toBe(0);
    const stored = await earlier.store('A vessel is expected.');
    later.queue.look();
    await later.embedded();
    expect(await first(later.find('boat expected'))).toBe(stored);
    expect(await first(later.find('feline'))).toBe(cat);
    for (let look = 0; look < 5; look++) {
      earlier.queue.look();
      await delay(20);
    }
    expect(await earlier.embedding()).toMatchObject({ modelId: expect.stringMatching('after'), embedded: 13 });
    expect(later.queue.health).toEqual({ state: 'ready' });
    const { level, facts } = earlier.reported('embedder_displaced')[0] as TelemetryEvent;
    expect({ level, facts }).toMatchObject({ level: 'warn', facts: { option: 'embedder' } });
    expect(earlier.events).toHaveLength(1);
  });

  it('two processes with different models on one database use the earlier model again after a process has opened it again', async () => {
    const { cat } = await fill(storages[0], await model('before', 256), 10);
    const earlier = await Process.start(storages[0], await model('before', 256));
    const later = await Process.start(storages[1], await model('after', 512));
    await later.embedded();
    earlier.queue.look();
    await expect.poll(() => earlier.queue.health.state).toBe('unavailable');
    const again = await Process.start(storages[2], await model('before', 256));
    await again.embedded();
    for (const one of [earlier, later]) one.queue.look();
    await expect.poll(() => earlier.queue.health.state).toBe('ready');
    await expect.poll(() => later.queue.health.state).toBe('unavailable');
    expect(await first(earlier.find('feline'))).toBe(cat);
    expect(earlier.events.map(({ event }) => event)).toEqual(['embedder_displaced', 'embedder_restored']);
  });
});
