import { openNewSqlite } from '@memoryd/sqlite/testing';
import { testedStorage } from '@memoryd/suites';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EmbeddingQueue } from '../src/embedding-queue/embedding-queue.ts';
import { EventLog } from '../src/event-log.ts';
import type { Core } from '../src/operations/core.ts';
import { store, storeBatch } from '../src/operations/store-memories.ts';
import type { Embedder } from '../src/ports/embedder.ts';
import type { TelemetryEvent } from '../src/ports/runtime.ts';
import type { Storage } from '../src/ports/storage.ts';

const tested = testedStorage(openNewSqlite(10_000));
const clock = { now: () => Date.now() };
const telemetry = { report: ({ event }: TelemetryEvent) => void events.push(event) };
let events: string[];
let queue: EmbeddingQueue | undefined;
let ids = 0;

beforeEach(() => {
  events = [];
});
afterEach(async () => {
  await queue?.stop();
  queue = undefined;
});

/** Returns the parts of a core that a store needs. */
function createCore(parts: Partial<Core> = {}): Core {
  const source = { next: () => `m${++ids}` };
  const core: Partial<Core> = {
    ...{ storage: tested.storage, clock, arrivals: clock, ids: source, telemetry, maxAnswerBytes: 2 ** 20 },
    events: new EventLog(clock, source),
    ...parts,
  };
  return core as Core;
}

/** Returns a core with a model that knows two directions: sea and land. `calls` lists what it has embedded. */
async function createCoreWithModel(calls: string[]): Promise<Core> {
  const embedder: Embedder = {
    ...{ modelId: 'sea-or-land', dimensions: 64, maxBatchSize: 64, hasUsualCosines: true },
    async embed(texts, purpose) {
      calls.push(...texts.map((text) => `${purpose}: ${text}`));
      return texts.map((text) => {
        const vector = new Float32Array(64);
        vector[/ship|ferry|pier/.test(text) ? 0 : 1] = 1;
        return { vectors: [vector] };
      });
    },
    close: async () => {},
  };
  queue = new EmbeddingQueue(async () => embedder, tested.storage, telemetry);
  await queue.start();
  return createCore({ embedding: queue });
}

describe('store with similar', () => {
  it('embeds the stored text once, and finds a memory that shares no word with it', async () => {
    const calls: string[] = [];
    const core = await createCoreWithModel(calls);
    const { id } = await store(core, 'default', { content: 'the ship sails' });
    await store(core, 'default', { content: 'cows graze' });
    calls.length = 0;
    const { similar } = await store(core, 'default', { content: 'a ferry departed' }, { similar: 3 });
    expect(similar?.map((memory) => memory.id)).toEqual([id]);
    expect(calls).toEqual(['memory: a ferry departed']);
  });

  it('embeds the new text of a changed memory once', async () => {
    const calls: string[] = [];
    const core = await createCoreWithModel(calls);
    const { id } = await store(core, 'default', { content: 'the ship sails' });
    await store(core, 'default', { content: 'cows graze', external_id: 'x' });
    calls.length = 0;
    const changed = { content: 'a ferry departed', external_id: 'x' };
    const { similar } = await store(core, 'default', changed, { similar: 3 });
    expect(similar?.map((memory) => memory.id)).toEqual([id]);
    expect(calls).toEqual(['memory: a ferry departed']);
  });

  it('acknowledges the memory without similar memories if their search fails', async () => {
    const storage: Storage = { ...tested.storage, searchAndRank: () => Promise.reject(new Error('no search')) };
    const core = createCore({ storage });
    const one = await store(core, 'default', { content: 'the ship sails' }, { similar: 3 });
    const { results } = await storeBatch(core, 'default', [{ content: 'the ship sank' }], { similar: 3 });
    expect(one).toEqual({ id: expect.any(String), status: 'stored' });
    expect(results).toEqual([{ id: expect.any(String), status: 'stored' }]);
    expect(events).toEqual(['similar_search_failed', 'similar_search_failed']);
    expect(await tested.storage.memory('default', one.id, Date.now())).toMatchObject({ content: 'the ship sails' });
  });

  it('leaves out the similar memories of a batch that exceed the maximum response size', async () => {
    const core = createCore({ maxAnswerBytes: 20_000 });
    const long = `the ship sails ${'slowly '.repeat(600)}`;
    await store(core, 'default', { content: `${long}north` });
    const requests = ['east', 'south', 'west'].map((word) => ({ content: long + word }));
    const { results } = await storeBatch(core, 'default', requests, { similar: 2 });
    expect(results.map((result) => 'similar' in result && result.similar?.length)).toEqual([2, 2, false]);
  });
});
