import { count, sql } from '@memoryd/core';
import { newMemory } from '@memoryd/suites';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection } from './connection.ts';
import { type DatabaseServer, usePostgres } from './database.fixture.ts';
import { openTwice } from './open-twice.fixture.ts';
import { rebuildEntries } from './rebuild-entries.ts';
import { MADE_BY } from './recall-entry.ts';

/** More than one statement scans. */
const ENTRIES = 12_000;

describe('rebuildEntries in a large database', () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await usePostgres();
  });
  afterAll(() => server.close());

  /** Creates a database with two memories, and with many entries without a memory between them. */
  async function createLargeDatabase(): Promise<Connection> {
    const { storage, connection } = await openTwice(server);
    await storage.store(newMemory({ id: 'first' }));
    await connection.run(sql`
      INSERT INTO recall_entry (namespace, ordinal, made_by, length, speaker, marks, terms, frequencies, speaker_terms)
      SELECT 'default', nextval('memory_ordinal'), ${MADE_BY}::integer, 1, 0, 0, '{}', '{}', '{}'
      FROM generate_series(1, ${ENTRIES}::integer)`);
    await storage.store(newMemory({ id: 'last' }));
    return connection;
  }

  it('reads the index entries with several statements', async () => {
    const connection = await createLargeDatabase();
    let statements = 0;
    const rows: Connection['rows'] = (statement) => {
      statements++;
      return connection.rows(statement);
    };
    await rebuildEntries({ ...connection, rows });
    expect(statements).toBeGreaterThan(2);
  });

  it('rebuilds all outdated index entries, and the words that lists find', async () => {
    const connection = await createLargeDatabase();
    const current = sql`recall_entry JOIN memory USING (namespace, ordinal) WHERE made_by = ${MADE_BY}`;
    await connection.run(sql`
      UPDATE recall_entry SET made_by = 0 WHERE ordinal IN (SELECT ordinal FROM memory)`);
    await connection.run(sql`UPDATE memory_words SET words = ''`);
    expect(await count(connection, current)).toBe(0);
    await rebuildEntries(connection);
    expect(await count(connection, current)).toBe(2);
    expect(await count(connection, sql`memory_words WHERE words = ''`)).toBe(0);
    expect(await count(connection, sql`recall_entry`)).toBe(ENTRIES + 2);
  });
});
