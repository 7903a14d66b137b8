import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openSqlite } from './open.ts';
import { lazyConnection } from './open-connection.ts';

it('lazyConnection opens the connection once on first use, and throws after it was closed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'memoryd-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'memory.db');
  const [used, unused] = [lazyConnection(path, 1), lazyConnection(path, 1)];
  await (await openSqlite({ path, workingMax: 1 })).storage.close();
  expect(used.open()).toBe(used.open());
  for (const one of [used, unused]) {
    one.close();
    expect(() => one.open()).toThrow('the database is closed');
  }
});
