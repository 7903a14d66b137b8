import { renameSync } from 'node:fs';
import type { ApiKeyWithSecret, HealthResponse } from '@memoryd/contract';
import { lockFile } from '@memoryd/sqlite/testing';
import { expect, it, onTestFinished } from 'vitest';
import { lockTables } from '../../postgres/src/database.fixture.ts';
import { ON_FILE } from './databases.ts';
import type { Answer } from './http.ts';
import { eventually } from './process.ts';
import { type Client, expectCleanEnd, startClient, WORDS_ONLY } from './under-test.ts';

const UNANSWERED = /^the database has not answered for \d+ s$/;

const getHealth = (client: Client, path = '/health', headers = {}) => client.send<HealthResponse>({ path, headers });

/** Creates an API key with the scope `operate`. Only the first key needs no `headers` of another key. */
async function addKey(client: Client, namespace: string, headers = {}): Promise<{ authorization: string }> {
  const json = { namespace, scope: 'operate' };
  const { key } = await client.ok<ApiKeyWithSecret>({ method: 'POST', path: '/keys', json, headers });
  return { authorization: `Bearer ${key}` };
}

const untilHealth = (client: Client, isExpected: (answer: Answer<HealthResponse>) => boolean) =>
  eventually('the expected health', 30_000, async () => {
    const answer = await getHealth(client);
    return isExpected(answer) ? answer.body : undefined;
  });

it('GET /health names the time of a check that is repeated without requests', async () => {
  const client = await startClient({ env: WORDS_ONLY });
  const first = (await untilHealth(client, ({ status }) => status === 200)).checked_at ?? '';
  const { checked_at } = await untilHealth(client, ({ body }) => (body.checked_at ?? '') > first);
  expect(checked_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  await expectCleanEnd(client.server);
});

it.each([{ tables: 'memory' }, ...(ON_FILE ? [] : [{ tables: 'memory, api_key, property' }])])(
  'GET /health and /readyz respond while the database is locked ($tables), first from the last check and then as unhealthy, and recover',
  async ({ tables }) => {
    const client = await startClient({ env: WORDS_ONLY });
    await client.store({ content: 'stored before the lock' });
    const headers = await addKey(client, 'default');
    const kitchen = await addKey(client, 'kitchen', headers);
    const cellar = await addKey(client, 'cellar', headers);
    const known = { working_count: 1, last_sleep_at: null };
    await untilHealth(client, ({ body }) => body.working_count === 1);
    // The counts of another namespace are known once they have been read.
    expect((await getHealth(client, '/health', kitchen)).body).toMatchObject({ working_count: 0 });

    const release = ON_FILE ? lockFile(client.server.database) : await lockTables(client.server.database, tables);
    let isReleased = false;
    onTestFinished(async () => {
      if (!isReleased) await release();
    });
    // All of these responses arrive while the lock is held.
    for (const path of ['/health', '/readyz']) {
      expect(await getHealth(client, path)).toMatchObject({ status: 200, body: { status: 'healthy', ...known } });
    }
    if (tables === 'memory' && !ON_FILE) {
      const unread = await getHealth(client, '/health', cellar);
      expect([unread.status, unread.body.reason]).toEqual([503, expect.stringContaining('have not been read yet')]);
    }
    const unhealthy = await untilHealth(client, ({ status }) => status === 503);
    expect(unhealthy).toMatchObject({ status: 'unhealthy', reason: expect.stringMatching(UNANSWERED), ...known });
    await untilHealth(client, ({ body }) => body.reason !== unhealthy.reason && UNANSWERED.test(body.reason ?? ''));
    expect(await getHealth(client, '/readyz')).toMatchObject({ status: 503, body: known });
    const isReadable = ON_FILE;
    await untilHealth(client, ({ body }) => body.db_connected === isReadable);
    // Without the keys, the request counts as one without a key.
    const working_count = tables.includes('api_key') ? 1 : 0;
    expect((await getHealth(client, '/health', kitchen)).body).toMatchObject({
      status: 'unhealthy',
      working_count,
    });
    expect((await client.send({ path: '/livez', headers: kitchen })).status).toBe(200);
    isReleased = true;
    await release();

    await untilHealth(client, ({ status, body }) => status === 200 && body.db_connected);
    await client.store({ content: 'stored after the lock' }, headers);
    await untilHealth(client, ({ body }) => body.working_count === 2);
    const reported = client.server.records().filter(({ event }) => event === 'service_unhealthy');
    expect(reported, 'one record, although the reason changes every second').toHaveLength(1);
    await expectCleanEnd(client.server);
  },
);

it.runIf(ON_FILE)('GET /health reports a moved database file, and recovers when the file is back', async () => {
  const client = await startClient({ env: WORDS_ONLY });
  const { dbPath } = client.server;
  await untilHealth(client, ({ status }) => status === 200);
  renameSync(dbPath, `${dbPath}.moved`);
  const { reason } = await untilHealth(client, ({ status }) => status === 503);
  expect(reason).toMatch(/disk|file (has been moved|is missing)/);
  renameSync(`${dbPath}.moved`, dbPath);
  await untilHealth(client, ({ status }) => status === 200);
  await expectCleanEnd(client.server);
});
