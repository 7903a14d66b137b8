import { once } from 'node:events';
import { type AddressInfo, createServer, connect as dial } from 'node:net';
import { NO_QUOTAS } from '@memoryd/engine/storage-kit';
import { newMemory } from '@memoryd/engine/storage-testing';
import { expect, it, onTestFinished } from 'vitest';
import { connect } from './connection.ts';
import { usePostgres } from './database.fixture.ts';
import { openPostgres } from './open.ts';
import { StoreQueue } from './store-queue.ts';

it('stores that wait together while the database is away are refused after the tries of one', async () => {
  let tries = 0;
  const server = createServer((socket) => {
    tries++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const connection = connect({ url: `postgres://nobody:nothing@127.0.0.1:${port}/none`, connections: 2 });
  const stores = new StoreQueue(connection, { workingMax: 100, quota: NO_QUOTAS });

  await expect(stores.storeMany([newMemory({ id: 'alone' })])).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  const triesOfOne = tries;
  const together = Array.from({ length: 40 }, (_, i) => stores.storeMany([newMemory({ id: `m${i}` })]));
  const refused = await Promise.allSettled(together);
  expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 'rejected'));
  // The first is under way before the others come, which are then one batch.
  expect(tries).toBe(3 * triesOfOne);
  await connection.close();
});

it('a store of which nobody can say whether it happened is told to be one', async () => {
  const server = await usePostgres();
  const url = await server.create();
  const way = await openWay(url);
  const { storage } = await openPostgres({ url: way.url, connections: 4, workingMax: 100 });
  await storage.store(newMemory({ id: 'before' }));
  way.endAtCommit();
  await expect(storage.store(newMemory({ id: 'unheard of' }))).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    mayBeDone: true,
  });
  const { storage: direct } = await openPostgres({ url, connections: 1, workingMax: 100 });
  expect(await direct.memory('default', 'unheard of', 2)).toMatchObject({ id: 'unheard of' });
  await Promise.all([storage.close(), direct.close()]);
  await server.drop(url);
  await server.close();
});

/** The way to a server; it can end, for good, between the next commit and the answer to it. */
async function openWay(to: string) {
  let isEnding = false;
  let isGone = false;
  const way = createServer((near) => {
    near.on('error', () => {});
    if (isGone) return void near.destroy();
    const far = dial(Number(new URL(to).port), new URL(to).hostname);
    far.on('error', () => {});
    near.on('data', (bytes) => {
      if (isEnding && bytes.includes('COMMIT\0')) isGone = true;
      far.write(bytes);
    });
    far.on('data', (bytes) => (isGone ? near.destroy() : near.write(bytes)));
    near.on('close', () => far.destroy());
  });
  await once(way.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void way.close());
  const url = new URL(to);
  url.port = String((way.address() as AddressInfo).port);
  return {
    url: url.href,
    endAtCommit() {
      isEnding = true;
    },
  };
}
