import { MemoryError } from '@memoryd/contract/errors';
import { NO_QUOTAS, type Queries, type Storage, sqlStorage } from '@memoryd/core';
import { newMemory } from '@memoryd/suites';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Connection } from './connection.ts';
import { type DatabaseServer, usePostgres } from './database.fixture.ts';
import { openTwice } from './open-twice.fixture.ts';
import { createSqlRunner } from './sql-runner.ts';
import { createVacuumTask } from './vacuum.ts';

const NO_QUOTA = NO_QUOTAS;
const PAGE = { limit: 100, maxBytes: 1e6 };

describe('reads during concurrent writes', () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await usePostgres();
  });
  afterAll(() => server.close());

  /** Opens storage whose reads are followed by a store of another process after each statement. */
  async function openDisturbed() {
    const { storage, connection } = await openTwice(server);
    let stored = 0;
    const store = async () => {
      const sessions = ['default', `session ${stored}`];
      const tags = ['tag'];
      await storage.storeMany(sessions.map((sessionId) => newMemory({ id: `m${stored++}`, tags, sessionId })));
    };
    for (let i = 0; i < 2; i++) await store();
    const disturb = (queries: Queries): Queries => ({
      dialect: queries.dialect,
      rows: (statement) => queries.rows<never>(statement).finally(store),
      row: (statement) => queries.row<never>(statement).finally(store),
      run: (statement) => queries.run(statement),
      insert: (...args) => queries.insert(...args),
      insertMissing: (...args) => queries.insertMissing(...args),
    });
    const disturbedConnection: Connection = {
      ...connection,
      ...disturb(connection),
      snapshot: (read, settings) => connection.snapshot((queries) => read(disturb(queries)), settings),
    };
    return sqlStorage(createSqlRunner(disturbedConnection, createVacuumTask(connection), NO_QUOTA)).storage;
  }

  it.each([
    ['memories', async () => (await openDisturbed()).memories('default', {}, PAGE, 2)],
    ['memories of a filter', async () => (await openDisturbed()).memories('default', { tags: ['tag'] }, PAGE, 2)],
    ['a session', async () => (await openDisturbed()).session('default', 'default', PAGE, 2)],
    ['sessions', async () => (await openDisturbed()).sessions('default', {}, PAGE, 2)],
  ])('reads during concurrent writes return a page of %s and its total from one snapshot', async (_, page) => {
    const { items, total } = await page();
    expect(items.length).toBeGreaterThan(1);
    expect(total).toBe(items.length);
  });
});

describe('rows that were deleted before a failure', () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await usePostgres();
  });
  afterAll(() => server.close());

  /** Opens a database with memories for several batches, whose `write` fails from the third call on. */
  async function openFailing(): Promise<Connection> {
    const { storage, connection } = await openTwice(server);
    await storage.storeMany(Array.from({ length: 600 }, (_, i) => newMemory({ id: `m${i}`, tags: ['tag'] })));
    let writes = 0;
    const write: Connection['write'] = async (hold, work) => {
      if (++writes > 2) throw new MemoryError('UNAVAILABLE', 'away');
      return connection.write(hold, work);
    };
    return { ...connection, write };
  }

  it.each([
    ['of a selection', (of: Pick<Storage, 'forgetMany'>) => of.forgetMany('default', { tag: 'tag' })],
    ['of a namespace', (of: Pick<Storage, 'deleteNamespace'>) => of.deleteNamespace('default')],
  ])(
    'rows that were deleted before a failure cause a request to vacuum after a failed deletion %s',
    async (_, forget) => {
      const connection = await openFailing();
      const vacuum = createVacuumTask(connection);
      const requested = vi.spyOn(vacuum, 'request').mockImplementation(async () => true);
      const { storage } = sqlStorage(createSqlRunner(connection, vacuum, NO_QUOTA));
      await expect(forget(storage)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      expect(requested).toHaveBeenCalledOnce();
    },
  );
});
