import { createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { newMemory } from '../../../ports/new-memory.fixture.ts';
import { connect } from '../connection.ts';
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
  const stores = new StoreQueue(connection, { workingMax: 100, quota: { memories: 0, bytes: 0 } });

  await expect(stores.storeMany([newMemory({ id: 'alone' })])).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  const triesOfOne = tries;
  const together = Array.from({ length: 40 }, (_, i) => stores.storeMany([newMemory({ id: `m${i}` })]));
  const refused = await Promise.allSettled(together);
  expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 'rejected'));
  // The first is under way before the others come, which are then one batch.
  expect(tries).toBe(3 * triesOfOne);
  await connection.close();
});
