import { type Queries, raw, sql } from '@memoryd/core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { connect } from './connection.ts';
import { type DatabaseServer, usePostgres } from './database.fixture.ts';

describe('prepared statements of a connection', () => {
  let server: DatabaseServer;
  beforeAll(async () => {
    server = await usePostgres();
  });
  afterAll(() => server.close());

  async function open() {
    const url = await server.create();
    const connection = connect({ url, connections: 1 });
    onTestFinished(async () => {
      await connection.close();
      await server.drop(url);
    });
    return connection;
  }

  const ask = (queries: Queries, shape: number) => queries.row(sql`SELECT ${raw(`${shape}`)} AS shape`);
  const getPrepared = async (queries: Queries) =>
    (await queries.rows<{ statement: string }>(sql`SELECT statement FROM pg_prepared_statements`)).map(
      ({ statement }) => statement,
    );

  it('prepared statements of a connection contain the current statements after many other statements', async () => {
    const connection = await open();
    for (let shape = 0; shape < 300; shape++) for (let i = 0; i < 2; i++) await ask(connection, shape);
    for (let i = 0; i < 3; i++) expect(await ask(connection, 1000)).toEqual({ shape: 1000 });
    expect(await getPrepared(connection)).toContain('SELECT 1000 AS shape');
  });

  it('prepared statements of a connection are limited to 512, and do not contain statements that were used only once', async () => {
    const connection = await open();
    for (let shape = 0; shape < 1200; shape++) for (let i = 0; i < 2; i++) await ask(connection, shape);
    expect((await getPrepared(connection)).length).toBeLessThanOrEqual(512);
    await ask(connection, 5000);
    expect(await getPrepared(connection)).not.toContain('SELECT 5000 AS shape');
  });
});
