import { count, sql } from '@memoryd/engine/storage-kit';
import { newMemory } from '@memoryd/engine/storage-testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection } from './connection.ts';
import { type DatabaseServer, usePostgres } from './database.fixture.ts';
import { openTwice } from './opened-twice.fixture.ts';
import { MADE_BY } from './recall-entry.ts';
import { renewEntries } from './renew.ts';

/** More than one statement looks at. */
const ENTRIES = 12_000;

describe('entries of a large database', () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await usePostgres();
  });
  afterAll(() => server.close());

  /** Two memories, with entries of no memory between them. */
  async function large(): Promise<Connection> {
    const { storage, connection } = await openTwice(server);
    await storage.store(newMemory({ id: 'first' }));
    await connection.run(sql`
      INSERT INTO recall_entry (namespace, ordinal, made_by, length, speaker, marks, terms, frequencies, speaker_terms)
      SELECT 'default', nextval('memory_ordinal'), ${MADE_BY}::integer, 1, 0, 0, '{}', '{}', '{}'
      FROM generate_series(1, ${ENTRIES}::integer)`);
    await storage.store(newMemory({ id: 'last' }));
    return connection;
  }

  it('are looked through by statements of which none is about all of them', async () => {
    const connection = await large();
    let statements = 0;
    const rows: Connection['rows'] = (statement) => {
      statements++;
      return connection.rows(statement);
    };
    await renewEntries({ ...connection, rows });
    expect(statements).toBeGreaterThan(2);
  });

  it('are made anew wherever other rules made them', async () => {
    const connection = await large();
    const made = sql`recall_entry JOIN memory USING (namespace, ordinal) WHERE made_by = ${MADE_BY}`;
    await connection.run(sql`
      UPDATE recall_entry SET made_by = 0 WHERE ordinal IN (SELECT ordinal FROM memory)`);
    expect(await count(connection, made)).toBe(0);
    await renewEntries(connection);
    expect(await count(connection, made)).toBe(2);
    expect(await count(connection, sql`recall_entry`)).toBe(ENTRIES + 2);
  });
});
