import { setTimeout } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { usePostgres } from '../../postgres/src/database.fixture.ts';
import { startProxy } from '../faults/tcp-proxy.ts';
import { parseRaw, send, sendRaw } from './http.ts';
import { eventually, freePort, type Launched, launch } from './process.ts';
import { expectError } from './refusal.ts';
import { WORDS_ONLY } from './under-test.ts';

const NOWHERE = 'postgres://nobody@127.0.0.1:1/nothing';

/** Starts a server whose database is unreachable. Resolves once the server responds. */
async function startWithUnreachable(database: string): Promise<{ port: number; server: Launched }> {
  const port = await freePort();
  const args = ['--host', '127.0.0.1', '--port', String(port), '--database-url', database];
  const server = launch(args, WORDS_ONLY);
  onTestFinished(async () => {
    await server.end('SIGKILL');
  });
  await eventually('the server to respond', 30_000, async () => {
    if (server.hasExited()) throw new Error((await server.exited).stderr);
    return send(port, { path: '/livez' }).then(
      ({ status }) => status,
      () => undefined,
    );
  });
  return { port, server };
}

it('memoryd is alive but unhealthy while its database is unreachable, and serves requests once the database is reachable', async () => {
  const postgres = await usePostgres();
  onTestFinished(() => postgres.close());
  const url = await postgres.create();
  onTestFinished(() => postgres.drop(url));
  const proxy = await startProxy(NOWHERE);
  const { port, server } = await startWithUnreachable(proxy.getUrl(url));

  expect(await send(port, { path: '/livez' })).toMatchObject({ status: 200, body: { status: 'alive' } });
  for (const path of ['/health', '/readyz', '/health?fresh=1']) {
    const { status, body } = await send(port, { path });
    expect({ status, body }).toMatchObject({ status: 503, body: { status: 'unhealthy', db_connected: false } });
  }
  const store = { method: 'POST', path: '/store', json: { content: 'stored' } } as const;
  const refused = await send(port, store);
  expectError(refused, { code: 'UNAVAILABLE' });
  expect(refused.headers['retry-after']).toBe('1');
  expect(server.lines().filter((line) => line.includes('"database_awaited"'))).toHaveLength(1);

  proxy.redirectTo(url);
  await eventually('health', 30_000, async () => {
    const { status } = await send(port, { path: '/health' }).catch(() => ({ status: 0 }));
    return status === 200 || undefined;
  });
  expect((await send(port, store)).status).toBe(200);
  expect((await server.end('SIGTERM')).code).toBe(0);
});

it('memoryd logs once what each of several unreachable hosts said, however often it tries them', async () => {
  const { server } = await startWithUnreachable('postgres://nobody@127.0.0.1:1,127.0.0.1:2/nothing');
  const getRecords = (event: string) => server.lines().filter((line) => line.includes(`"${event}"`));
  await eventually('the first failure', 30_000, async () => getRecords('database_awaited')[0]);
  // A later attempt begins one second after the previous one.
  await setTimeout(2500);
  expect(getRecords('database_awaited')).toHaveLength(1);
  expect(getRecords('database_hosts_failed')).toEqual([
    expect.stringMatching(/127\.0\.0\.1:1: no server listens .*; 127\.0\.0\.1:2: no server listens /),
  ]);
  expect((await server.end('SIGTERM')).code).toBe(0);
});

it('memoryd rejects an unknown method while it waits for its database, and shuts down cleanly on SIGTERM', async () => {
  const { port, server } = await startWithUnreachable(NOWHERE);
  const { status, text } = parseRaw(await sendRaw(port, 'FOO /stats HTTP/1.1\r\nHost: a\r\n\r\n'));
  expect([status, text]).toEqual([400, expect.stringContaining('unknown method')]);
  expect((await server.end('SIGTERM')).code).toBe(0);
});

it('memoryd exits with code 6 without waiting if the database does not exist', async () => {
  const postgres = await usePostgres();
  onTestFinished(() => postgres.close());
  const url = new URL(await postgres.create());
  onTestFinished(() => postgres.drop(url.href));
  const missing = new URL(url);
  missing.pathname = '/there_is_no_such_database';
  const { code, stderr } = await launch(['--port', '0', '--database-url', missing.href], WORDS_ONLY).exited;
  expect({ code, stderr }).toMatchObject({ code: 6, stderr: expect.stringContaining('there_is_no_such_database') });
});
