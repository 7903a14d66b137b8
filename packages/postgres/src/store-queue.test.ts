import { once } from 'node:events';
import { type AddressInfo, createServer, connect as dial } from 'node:net';
import { NO_QUOTAS } from '@memoryd/core';
import { newMemory } from '@memoryd/suites';
import { expect, it, onTestFinished } from 'vitest';
import { connect } from './connection.ts';
import { usePostgres } from './database.fixture.ts';
import { openPostgres } from './open.ts';
import { StoreQueue } from './store-queue.ts';

it('concurrent stores are rejected together after the retries of a single store if the database is unreachable', async () => {
  let attempts = 0;
  const server = createServer((socket) => {
    attempts++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const connection = connect({ url: `postgres://nobody:nothing@127.0.0.1:${port}/none`, connections: 2 });
  const stores = new StoreQueue(connection, { workingMax: 100, quota: NO_QUOTAS });

  await expect(stores.storeMany([newMemory({ id: 'alone' })])).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  const attemptsOfOne = attempts;
  const together = Array.from({ length: 40 }, (_, i) => stores.storeMany([newMemory({ id: `m${i}` })]));
  const results = await Promise.allSettled(together);
  expect(results.map(({ status }) => status)).toEqual(results.map(() => 'rejected'));
  // The first store starts alone, and the others become the next batch.
  expect(attempts).toBe(3 * attemptsOfOne);
  await connection.close();
});

it('a store is rejected with an unknown outcome if the response to its commit is lost', async () => {
  const server = await usePostgres();
  const url = await server.create();
  const proxy = await startProxy(url);
  const { storage } = await openPostgres({ url: proxy.url, connections: 4, workingMax: 100 });
  await storage.store(newMemory({ id: 'before' }));
  proxy.cutAtCommit();
  await expect(storage.store(newMemory({ id: 'unknown outcome' }))).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    isOutcomeUnknown: true,
  });
  const { storage: direct } = await openPostgres({ url, connections: 1, workingMax: 100 });
  expect(await direct.memory('default', 'unknown outcome', 2)).toMatchObject({ id: 'unknown outcome' });
  await Promise.all([storage.close(), direct.close()]);
  await server.drop(url);
  await server.close();
});

/** Starts a proxy to a server. `cutAtCommit` closes it for good between the next commit and its response. */
async function startProxy(to: string) {
  let cutsAtCommit = false;
  let isCut = false;
  const proxy = createServer((near) => {
    near.on('error', () => {});
    if (isCut) return void near.destroy();
    const far = dial(Number(new URL(to).port), new URL(to).hostname);
    far.on('error', () => {});
    near.on('data', (bytes) => {
      if (cutsAtCommit && bytes.includes('COMMIT\0')) isCut = true;
      far.write(bytes);
    });
    far.on('data', (bytes) => (isCut ? near.destroy() : near.write(bytes)));
    near.on('close', () => far.destroy());
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void proxy.close());
  const url = new URL(to);
  url.port = String((proxy.address() as AddressInfo).port);
  return {
    url: url.href,
    cutAtCommit() {
      cutsAtCommit = true;
    },
  };
}
