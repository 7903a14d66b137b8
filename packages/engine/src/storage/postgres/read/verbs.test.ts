import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newMemory } from '../../../ports/new-memory.fixture.ts';
import type { Queries } from '../../sql/queries.ts';
import type { Connection } from '../connection.ts';
import { type DatabaseServer, usePostgres } from '../database.fixture.ts';
import { openTwice } from '../opened-twice.fixture.ts';
import { readVerbs } from './verbs.ts';

const PAGE = { limit: 100, maxBytes: 1e6 };

describe('while others write', () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await usePostgres();
  });
  afterAll(() => server.close());

  /** Reads, with a store by another process after each statement. */
  async function disturbed() {
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
    });
    const meddled: Connection = {
      ...connection,
      ...disturb(connection),
      snapshot: (read, settings) => connection.snapshot((queries) => read(disturb(queries)), settings),
    };
    return readVerbs(meddled);
  }

  it.each([
    ['memories', async () => (await disturbed()).memories('default', {}, PAGE, 2)],
    ['memories of a filter', async () => (await disturbed()).memories('default', { tags: ['tag'] }, PAGE, 2)],
    ['a session', async () => (await disturbed()).session('default', 'default', PAGE, 2)],
    ['sessions', async () => (await disturbed()).sessions('default', {}, PAGE, 2)],
  ])('a page of %s and its total are of one moment', async (_, page) => {
    const { items, total } = await page();
    expect(items.length).toBeGreaterThan(1);
    expect(total).toBe(items.length);
  });
});
