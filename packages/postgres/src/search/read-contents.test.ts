import { sql } from '@memoryd/core';
import { newMemory } from '@memoryd/suites';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection } from '../connection.ts';
import { type DatabaseServer, usePostgres } from '../database.fixture.ts';
import { openTwice } from '../open-twice.fixture.ts';
import { countReadRows } from '../read-rows.fixture.ts';
import { readContents } from './search.ts';

const MEMORIES = 4000;
const NOW = 2;

describe('readContents', () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await usePostgres();
  });
  afterAll(() => server.close());

  async function createFilledDatabase(): Promise<Connection> {
    const { storage, connection } = await openTwice(server);
    await connection.run(sql`ALTER TABLE memory SET (autovacuum_enabled = off)`);
    await storage.storeMany(Array.from({ length: MEMORIES }, (_, i) => newMemory({ id: `m${i}` })));
    return connection;
  }

  it.each([10, 500])('reads only the rows of %i memories even if the tables have no statistics', async (count) => {
    const connection = await createFilledDatabase();
    const ordinals = await connection.rows<{ ordinal: number }>(
      sql`SELECT ordinal FROM memory ORDER BY ordinal DESC LIMIT ${count}`,
    );
    const read = await countReadRows(connection, (queries) =>
      readContents(
        queries,
        'default',
        ordinals.map(({ ordinal }) => ordinal),
        { now: NOW },
        1e6,
      ),
    );
    expect(read.memory).toBe(2 * count);
  });
});
