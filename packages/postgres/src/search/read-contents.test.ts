import { type Queries, type Sql, sql } from '@memoryd/core';
import { newMemory } from '@memoryd/suites';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection } from '../connection.ts';
import { type DatabaseServer, usePostgres } from '../database.fixture.ts';
import { openTwice } from '../open-twice.fixture.ts';
import { readContents } from './search.ts';

const MEMORIES = 4000;
const NOW = 2;

/** A node of a query plan in the JSON format of EXPLAIN. */
interface Step {
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: Step[];
}

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

  /** Returns the number of rows that a call reads from each table. */
  async function countReadRows(connection: Connection, ordinals: readonly number[]): Promise<Record<string, number>> {
    const read: Record<string, number> = {};
    const explaining: Queries = {
      ...connection,
      async rows<Row>(statement: Sql) {
        const [row] = await connection.rows<{ 'QUERY PLAN': { Plan: Step }[] }>(
          sql`EXPLAIN (ANALYZE, FORMAT JSON) ${statement}`,
        );
        if (row?.['QUERY PLAN'][0]) countRows(row['QUERY PLAN'][0].Plan, read);
        return [] as Row[];
      },
    };
    await readContents(explaining, 'default', ordinals, { at: NOW, now: NOW }, 1e6);
    return read;
  }

  it.each([10, 500])('reads only the rows of %i memories even if the tables have no statistics', async (count) => {
    const connection = await createFilledDatabase();
    const ordinals = await connection.rows<{ ordinal: number }>(
      sql`SELECT ordinal FROM memory ORDER BY ordinal DESC LIMIT ${count}`,
    );
    const read = await countReadRows(
      connection,
      ordinals.map(({ ordinal }) => ordinal),
    );
    expect(read).toEqual({ memory: 2 * count });
  });
});

function countRows(step: Step, read: Record<string, number>): void {
  const name = step['Relation Name'];
  if (name !== undefined) {
    const rows = (step['Actual Rows'] + (step['Rows Removed by Filter'] ?? 0)) * step['Actual Loops'];
    read[name] = (read[name] ?? 0) + rows;
  }
  for (const part of step.Plans ?? []) countRows(part, read);
}
