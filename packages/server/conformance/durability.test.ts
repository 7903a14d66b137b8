import { existsSync, statSync, writeFileSync } from 'node:fs';
import type { ErrorResponse, StoreResponse } from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import { IS_SHARED, ON_FILE } from './databases.ts';
import { send } from './http.ts';
import { eventually } from './process.ts';
import { expectRefusal } from './refusal.ts';
import { type Client, expectCleanEnd, startClient, useServer, WORDS_ONLY } from './under-test.ts';

/**
 * Stores so many memories at once; resolves as soon as `enough` of them are answered, with the ids of all answered until
 * then and later, and with a promise for the end of those under way.
 */
function storm(client: Client, count: number, enough: number): Promise<{ answered: string[]; rest: Promise<unknown> }> {
  const answered: string[] = [];
  return new Promise((resolve) => {
    const storing = Array.from({ length: count }, async (_, n) => {
      const request = { method: 'POST', path: '/store', json: { content: `storm ${n}` } };
      const answer = await send<StoreResponse>(client.server.port, request).catch(() => undefined);
      if (answer?.status !== 200) return;
      answered.push(answer.body.id);
      if (answered.length === enough) resolve({ answered, rest: Promise.all(storing) });
    });
  });
}

// Most of these tests wait for processes to start and end: side by side they wait together.
describe.concurrent('a restart', () => {
  it('keeps memories, history of writes, tiers, sessions and recall', async () => {
    const first = await startClient({ env: WORDS_ONLY });
    const settled = await first.store({ content: 'the settled cuttlefish', tags: ['a'], metadata: { k: 1 } });
    const twins = await first.storeAll([0, 1].map(() => ({ content: 'twin cuttlefish', session_id: 'twins' })));
    await first.consolidate();
    const working = await first.store({ content: 'a working cuttlefish', session_id: 's', supersedes: settled });
    await first.update(working, { importance: 0.9 });
    const ids = [settled, ...twins, working];
    const read = async (client: typeof first) => ({
      memories: await Promise.all(ids.map((id) => client.memory(id))),
      etags: await Promise.all(ids.map((id) => client.etag(id))),
      transcript: await client.session('twins'),
      sleep: (await client.stats()).last_sleep_at,
      recall: await client.recall('cuttlefish', 'tag=a'),
    });
    const before = await read(first);
    await expectCleanEnd(first.server);
    const second = await startClient({ env: WORDS_ONLY, database: first.server.database });
    const after = await read(second);
    // Reading counts as access and may be counted between two reads.
    const still = ({ memories, ...rest }: typeof before) => ({
      ...rest,
      memories: memories.map(({ access_count, accessed_at, retention, ...memory }) => memory),
    });
    expect(still(after)).toEqual(still(before));
    await expectCleanEnd(second.server);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'by %s ends with code 0, and leaves of a file one without a log',
    async (signal) => {
      const client = await startClient({ env: WORDS_ONLY });
      await client.storeAll(Array.from({ length: 100 }, (_, n) => ({ content: `kept ${n}` })));
      const { code, stderr } = await client.server.stop(signal);
      expect(code, stderr).toBe(0);
      if (!ON_FILE) return;
      const { dbPath } = client.server;
      expect([existsSync(dbPath), existsSync(`${dbPath}-wal`), existsSync(`${dbPath}-shm`)]).toEqual([
        true,
        false,
        false,
      ]);
    },
  );

  it('keeps every store that was answered before SIGTERM', async () => {
    const client = await startClient({ env: WORDS_ONLY });
    const { answered, rest } = await storm(client, 300, 20);
    const { code } = await client.server.stop();
    await rest;
    expect(code).toBe(0);
    const second = await startClient({ env: WORDS_ONLY, database: client.server.database });
    for (const id of answered) expect(await second.statusOf(id)).toBe(200);
    await expectCleanEnd(second.server);
  });
});

describe.concurrent('a crash', () => {
  it('right after a store was answered keeps it, found by its words', async () => {
    const first = await startClient({ env: WORDS_ONLY });
    const id = await first.store({ content: 'the last words of a cassowary' });
    await first.server.kill();
    const second = await startClient({ env: WORDS_ONLY, database: first.server.database });
    expect(await second.recalled('cassowary')).toEqual([id]);
    const updated = await second.update(id, { content: 'the revised words of a cassowary' });
    await second.server.kill();
    expect(updated.status).toBe(200);
    const third = await startClient({ env: WORDS_ONLY, database: first.server.database });
    expect((await third.memory(id)).content).toBe('the revised words of a cassowary');
    await third.forget(id);
    await third.server.kill();
    const fourth = await startClient({ env: WORDS_ONLY, database: first.server.database });
    expect(await fourth.statusOf(id)).toBe(404);
    await expectCleanEnd(fourth.server);
  });

  it('in the middle of 400 stores keeps every one that was answered', async () => {
    const first = await startClient({ env: WORDS_ONLY });
    const { answered, rest } = await storm(first, 400, 30);
    await first.server.kill();
    await rest;
    const second = await startClient({ env: WORDS_ONLY, database: first.server.database });
    const { memories, total } = await second.memories('limit=10000');
    const kept = new Set(memories.map((memory) => memory.id));
    expect(answered.filter((id) => !kept.has(id))).toEqual([]);
    expect((await second.recall('storm', 'top_k=1000')).total).toBe(total);
    await expectCleanEnd(second.server);
  });
});

describe.runIf(ON_FILE).concurrent('a database file that is broken while the server runs', () => {
  it('makes /health answer 503 unhealthy and a recall and a list server errors without internals, of which the log tells more', async () => {
    const client = await startClient({ env: WORDS_ONLY });
    const { dbPath, port } = client.server;
    // So unimportant that its retention rests on its uses, which recall has to read from the file.
    await client.store({ content: 'soon unreadable', importance: 0 });
    for (const path of [dbPath, `${dbPath}-wal`])
      writeFileSync(path, Buffer.alloc(statSync(path).size, 'garbage'), { flag: 'r+' });
    const health = await send(port, { path: '/health' });
    expect([health.status, health.body]).toEqual([
      503,
      expect.objectContaining({ status: 'unhealthy', db_connected: false }),
    ]);
    for (const path of ['/recall?query=unreadable', '/memories']) {
      const answer = await send<ErrorResponse>(port, { path });
      expectRefusal(answer, { code: answer.status === 503 ? 'UNAVAILABLE' : 'INTERNAL_ERROR' });
      const { request_id } = answer.body.error;
      await eventually('the log record', 20_000, () => client.server.lines().find((line) => line.includes(request_id)));
    }
    const { code, stdout } = await client.server.stop();
    expect(code, stdout.slice(-2000)).toBe(0);
  });
});

describe.runIf(IS_SHARED)('two servers on one database', () => {
  const first = useServer({ env: WORDS_ONLY });

  it('see each other’s writes at once', async () => {
    const second = await startClient({ env: WORDS_ONLY, database: first.server.database });
    const id = await first.store({ content: 'passed to the neighbouring axolotl' });
    expect(await second.recalled('axolotl')).toEqual([id]);
    expect((await second.update(id, { content: 'passed back by the neighbouring tapir' })).status).toBe(200);
    expect(await first.recalled('tapir')).toEqual([id]);
    await first.forget(id);
    expect(await second.statusOf(id)).toBe(404);
    expect(await second.recalled('tapir')).toEqual([]);
    await expectCleanEnd(second.server);
  });

  it('store side by side without a failure', async () => {
    const second = await startClient({ env: WORDS_ONLY, database: first.server.database });
    const before = (await first.memories('limit=1')).total;
    const memories = Array.from({ length: 150 }, (_, n) => ({ content: `parallel ${n}` }));
    const ids = (await Promise.all([first.storeAll(memories), second.storeAll(memories)])).flat();
    expect(new Set(ids).size).toBe(300);
    expect((await first.memories('limit=1')).total).toBe(before + 300);
    expect((await second.memories('limit=1')).total).toBe(before + 300);
    await expectCleanEnd(second.server);
    expect(await first.statusOf(ids[299] ?? '')).toBe(200);
  });
});
