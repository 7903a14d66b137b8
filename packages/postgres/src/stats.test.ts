import { type Queries, readVerbs, sql } from '@memoryd/core';
import { newMemory } from '@memoryd/suites';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Connection } from './connection.ts';
import { type DatabaseServer, usePostgres } from './database.fixture.ts';
import { openTwice } from './open-twice.fixture.ts';
import { countReadRows } from './read-rows.fixture.ts';

const MEMORIES = 4000;
const NOW = 10;

let server: DatabaseServer;
beforeAll(async () => {
  server = await usePostgres();
});
afterAll(() => server.close());

/** Returns a database in which few memories have expired, ended, not begun or a successor. */
async function createFilledDatabase(): Promise<Connection> {
  const { storage, connection } = await openTwice(server);
  const memories = Array.from({ length: MEMORIES }, (_, i) => newMemory({ id: `m${i}`, createdAt: 1 }));
  const unusual = [{ expiresAt: 5 }, { validTo: 5 }, { validFrom: 15 }, { createdAt: 15 }, { supersedes: 'm1' }];
  await storage.storeMany([
    ...memories,
    ...unusual.map((fields, i) => newMemory({ id: `u${i}`, createdAt: 1, ...fields })),
  ]);
  // One table, because the databases of other tests are schemas of the same database.
  await connection.run(sql`ANALYZE memory`);
  return connection;
}

it.each([
  ['a namespace', (queries: Queries) => readVerbs.stats(queries, 'default', NOW)],
  ['all namespaces', (queries: Queries) => readVerbs.totals(queries, NOW)],
])('the counts of %s read only the rows of memories that expired or may not hold', async (_name, read) => {
  const connection = await createFilledDatabase();
  const rows = await countReadRows(connection, read);
  expect(rows.memory).toBeGreaterThan(0);
  expect(rows.memory).toBeLessThan(50);
});
