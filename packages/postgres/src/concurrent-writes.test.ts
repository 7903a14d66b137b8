import { Life, type StorageUnderTest } from '@memoryd/suites';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DatabaseServer, usePostgres } from './database.fixture.ts';
import { openPostgres } from './open.ts';

const NAMESPACE = 'default';
const STORED = 90;

describe('concurrent consolidation and writes of two processes', () => {
  let server: DatabaseServer;
  let url: string;
  let databases: [StorageUnderTest, StorageUnderTest];

  beforeAll(async () => {
    server = await usePostgres();
    url = await server.create();
    const open = async () => {
      const { storage, lease, keys } = await openPostgres({ url, connections: 4, workingMax: 1000 });
      const reopen = () => Promise.reject(new Error('reopen is not supported'));
      return { storage, lease, keys, reopen, close: () => storage.close() };
    };
    databases = [await open(), await open()];
  });
  afterAll(async () => {
    await Promise.all(databases.map((database) => database.close()));
    await server.drop(url);
    await server.close();
  });

  it('concurrent consolidation and writes of two processes lose no writes and keep the index consistent', async () => {
    const [consolidator, { storage }] = databases;
    const client = new Life(NAMESPACE);
    const expected = new Map<string, string>();
    let isWriting = true;

    async function store(id: string, content: string): Promise<void> {
      await storage.store(client.newMemory(id, content));
      expected.set(id, content);
    }

    async function update(id: string, content: string): Promise<void> {
      const { outcome } = await storage.update({ namespace: NAMESPACE, id, at: client.time, content });
      if (outcome === 'updated') expected.set(id, content);
    }

    async function forget(id: string): Promise<void> {
      const forgotten = await storage.forget(NAMESPACE, id);
      if (forgotten.outcome !== 'forgotten') return;
      for (const gone of [id, ...forgotten.alsoForgotten]) expected.delete(gone);
    }

    async function write(): Promise<void> {
      for (let i = 0; i < STORED; i++) {
        await store(`memory ${i}`, `text ${i % 5}`);
        if (i % 4 === 0) await update(`memory ${i - 6}`, `other text ${i % 3}`);
        if (i % 9 === 8) await forget(`memory ${i - 6}`);
      }
      isWriting = false;
    }

    async function consolidate(): Promise<void> {
      const life = new Life(NAMESPACE);
      for (let round = 0; isWriting; round++) {
        life.time += 1000;
        const run = await life.consolidate(consolidator, async (ref) => {
          await consolidator.storage.promote(ref, { promotedUntil: life.time, now: life.time }, 5);
          await consolidator.storage.mergeDuplicates(ref, life.time, 7);
        });
        if (round % 3 > 0) continue;
        const undo = await consolidator.storage.beginUndo(NAMESPACE, run.id, { fence: run.fence, endedAfter: 0 });
        if (undo.outcome !== 'begun') continue;
        for (let more = true; more; ) more = (await consolidator.storage.undoSome(undo.ref, life.time, 3)).more;
      }
    }

    await Promise.all([write(), consolidate()]);
    for (const [id, content] of expected) {
      expect(await storage.memory(NAMESPACE, id, client.time)).toMatchObject({ content });
    }
    expect((await storage.session(NAMESPACE, 'default', { limit: 1000, maxBytes: 1e7 }, client.time)).total).toBe(
      expected.size,
    );
    expect(await storage.integrity()).toEqual([]);
  });

  it('concurrent consolidation and writes of two processes that store the first memories of the same users and sessions at the same time count each once', async () => {
    const life = new Life('lists');
    const rounds = 25;
    for (let round = 0; round < rounds; round++) {
      const place = { userId: `user ${round}`, sessionId: `session ${round}` };
      await Promise.all(
        databases.flatMap(({ storage }, at) =>
          ['', 'cook'].map((agentId) =>
            storage.store(life.newMemory(`${round} ${at} ${agentId}`, 'text', { ...place, agentId })),
          ),
        ),
      );
    }
    const [{ storage }] = databases;
    const page = { limit: 1, maxBytes: 1e6 };
    expect(await storage.sessions('lists', {}, page, life.time)).toMatchObject({
      items: [{ total: 4 }],
      total: rounds,
    });
    expect(await storage.users('lists', page, life.time)).toMatchObject({
      items: [{ counts: { working_count: 4 } }],
      total: rounds,
    });
    expect(await storage.integrity()).toEqual([]);
  });
});
