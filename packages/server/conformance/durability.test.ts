import { statSync, writeFileSync } from 'node:fs';
import type { ErrorResponse } from '@memoryd/contract';
import { beforeAll, describe, expect, it } from 'vitest';
import { ON_FILE } from './databases.ts';
import { send } from './http.ts';
import { eventually } from './process.ts';
import { expectError } from './refusal.ts';
import { type Client, expectCleanEnd, startClient, startProcessClient, useServer, WORDS_ONLY } from './under-test.ts';

describe('a restart', () => {
  it('preserves memories, versions, tiers, sessions and recall results', async () => {
    const first = await startClient({ env: WORDS_ONLY });
    const promoted = await first.store({ content: 'the promoted cuttlefish', tags: ['a'], metadata: { k: 1 } });
    const duplicates = await first.storeAll(
      [0, 1].map(() => ({ content: 'duplicate cuttlefish', session_id: 'duplicates' })),
    );
    await first.consolidate();
    const working = await first.store({ content: 'a working cuttlefish', session_id: 's', supersedes: promoted });
    await first.update(working, { importance: 0.9 });
    const ids = [promoted, ...duplicates, working];
    const read = async (client: typeof first) => ({
      memories: await Promise.all(ids.map((id) => client.memory(id))),
      etags: await Promise.all(ids.map((id) => client.etag(id))),
      transcript: await client.session('duplicates'),
      lastSleepAt: (await client.stats()).last_sleep_at,
      recall: await client.recall('cuttlefish', 'tag=a'),
    });
    const before = await read(first);
    await expectCleanEnd(first.server);
    const second = await startClient({ env: WORDS_ONLY, database: first.server.database });
    const after = await read(second);
    // Reads count as accesses, so these fields may change between two reads.
    const withoutAccesses = ({ memories, ...rest }: typeof before) => ({
      ...rest,
      memories: memories.map(({ access_count, accessed_at, retention, ...memory }) => memory),
    });
    expect(withoutAccesses(after)).toEqual(withoutAccesses(before));
    await expectCleanEnd(second.server);
  });
});

describe('a crash', () => {
  it('right after the response to a store loses neither the memory nor its index entry', async () => {
    const first = await startProcessClient({ env: WORDS_ONLY });
    const id = await first.store({ content: 'the last words of a cassowary' });
    await first.server.kill();
    const second = await startClient({ env: WORDS_ONLY, database: first.server.database });
    expect(await second.recalled('cassowary')).toEqual([id]);
    await expectCleanEnd(second.server);
  });
});

describe.runIf(ON_FILE)('a database file that is corrupted while the server runs', () => {
  it('makes /health return 503 and recalls and lists fail, with the error details only in the log', async () => {
    const client = await startClient({ env: WORDS_ONLY });
    const { dbPath, port } = client.server;
    // With an importance of 0 the retention depends on accesses, which recall reads from the file.
    await client.store({ content: 'soon unreadable', importance: 0 });
    for (const path of [dbPath, `${dbPath}-wal`])
      writeFileSync(path, Buffer.alloc(statSync(path).size, 'garbage'), { flag: 'r+' });
    await expect
      .poll(() => send(port, { path: '/health' }))
      .toMatchObject({ status: 503, body: { status: 'unhealthy', db_connected: false } });
    for (const path of ['/recall?query=unreadable', '/memories']) {
      const answer = await send<ErrorResponse>(port, { path });
      expectError(answer, { code: answer.status === 503 ? 'UNAVAILABLE' : 'INTERNAL_ERROR' });
      const { request_id } = answer.body.error;
      await eventually('the log record', 20_000, () => client.server.lines().find((line) => line.includes(request_id)));
    }
    const { code, stdout } = await client.server.stop();
    expect(code, stdout.slice(-2000)).toBe(0);
  });
});

it('memoryd keeps running after SIGHUP, which log rotation sends', async () => {
  const client = await startProcessClient({ env: WORDS_ONLY });
  process.kill(client.server.pid, 'SIGHUP');
  await eventually('the log record', 20_000, () =>
    client.server.lines().find((line) => line.includes('hangup_ignored')),
  );
  await client.store({ content: 'stored after the hang-up' });
  await expectCleanEnd(client.server);
});

describe('two servers on one database', () => {
  const first = useServer({ env: WORDS_ONLY });
  let second: Client;
  beforeAll(async () => {
    second = await startClient({ env: WORDS_ONLY, database: first.server.database });
  });

  it('two servers on one database see each other’s writes immediately', async () => {
    const id = await first.store({ content: 'passed to the neighboring axolotl' });
    expect(await second.recalled('axolotl')).toEqual([id]);
    expect((await second.update(id, { content: 'passed back by the neighboring tapir' })).status).toBe(200);
    expect(await first.recalled('tapir')).toEqual([id]);
    await first.forget(id);
    expect(await second.getStatus(id)).toBe(404);
    expect(await second.recalled('tapir')).toEqual([]);
  });

  it('store memories concurrently without errors', async () => {
    const before = (await first.memories('limit=1')).total;
    const memories = Array.from({ length: 60 }, (_, n) => ({ content: `parallel ${n}` }));
    const ids = (await Promise.all([first.storeAll(memories), second.storeAll(memories)])).flat();
    expect(new Set(ids).size).toBe(120);
    expect((await first.memories('limit=1')).total).toBe(before + 120);
    expect((await second.memories('limit=1')).total).toBe(before + 120);
    await expectCleanEnd(second.server);
    expect(await first.getStatus(ids[119] ?? '')).toBe(200);
  });
});
