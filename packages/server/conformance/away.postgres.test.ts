import { expect, it, onTestFinished } from 'vitest';
import { usePostgres } from '../../postgres/src/database.fixture.ts';
import { openAddress } from '../faults/moving-address.ts';
import { send } from './http.ts';
import { eventually, freePort, type Launched, launch } from './process.ts';
import { expectRefusal } from './refusal.ts';
import { WORDS_ONLY } from './under-test.ts';

const NOWHERE = 'postgres://nobody@127.0.0.1:1/nothing';

/** Starts a server that cannot reach its database, and resolves when it answers. */
async function startWithout(database: string): Promise<{ port: number; server: Launched }> {
  const port = await freePort();
  const args = ['--host', '127.0.0.1', '--port', String(port), '--database-url', database];
  const server = launch(args, WORDS_ONLY);
  onTestFinished(async () => {
    await server.end('SIGKILL');
  });
  await eventually('the server to answer', 30_000, async () => {
    if (server.hasExited()) throw new Error((await server.exited).stderr);
    return send(port, { path: '/livez' }).then(
      ({ status }) => status,
      () => undefined,
    );
  });
  return { port, server };
}

it('is alive and unhealthy while its database is not there, refuses the rest, and serves once it is', async () => {
  const postgres = await usePostgres();
  onTestFinished(() => postgres.close());
  const url = await postgres.create();
  onTestFinished(() => postgres.drop(url));
  const address = await openAddress(NOWHERE);
  const { port, server } = await startWithout(address.of(url));

  expect(await send(port, { path: '/livez' })).toMatchObject({ status: 200, body: { status: 'alive' } });
  for (const path of ['/health', '/readyz', '/health?fresh=1']) {
    const { status, body } = await send(port, { path });
    expect({ status, body }).toMatchObject({ status: 503, body: { status: 'unhealthy', db_connected: false } });
  }
  const store = { method: 'POST', path: '/store', json: { content: 'kept' } } as const;
  const refused = await send(port, store);
  expectRefusal(refused, { code: 'UNAVAILABLE' });
  expect(refused.headers['retry-after']).toBe('1');
  expect(server.lines().filter((line) => line.includes('"database_awaited"'))).toHaveLength(1);

  address.moveTo(url);
  await eventually('health', 30_000, async () => {
    const { status } = await send(port, { path: '/health' }).catch(() => ({ status: 0 }));
    return status === 200 || undefined;
  });
  expect((await send(port, store)).status).toBe(200);
  expect((await server.end('SIGTERM')).code).toBe(0);
});

it('ends cleanly when it is told to while it waits for its database', async () => {
  const { server } = await startWithout(NOWHERE);
  expect((await server.end('SIGTERM')).code).toBe(0);
});

it('waits for no database that refuses it', async () => {
  const postgres = await usePostgres();
  onTestFinished(() => postgres.close());
  const url = new URL(await postgres.create());
  onTestFinished(() => postgres.drop(url.href));
  const missing = new URL(url);
  missing.pathname = '/there_is_no_such_database';
  const { code, stderr } = await launch(['--port', '0', '--database-url', missing.href], WORDS_ONLY).exited;
  expect({ code, stderr }).toMatchObject({ code: 6, stderr: expect.stringContaining('there_is_no_such_database') });
});
