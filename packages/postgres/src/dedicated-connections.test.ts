import { type Storage, sql } from '@memoryd/core';
import { newMemory } from '@memoryd/suites';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { connect } from './connection.ts';
import { type DatabaseServer, getServerAddress, usePostgres } from './database.fixture.ts';
import { openPostgres } from './open.ts';

describe('a long operation on a dedicated connection', () => {
  let server: DatabaseServer;
  let watcher: Client;
  beforeAll(async () => {
    server = await usePostgres();
    watcher = new Client({ connectionString: getServerAddress('TEST_DATABASE_URL') });
    await watcher.connect();
  });
  afterAll(async () => {
    await watcher.end();
    await server.close();
  });

  async function createDatabase(): Promise<string> {
    const url = await server.create();
    onTestFinished(() => server.drop(url));
    return url;
  }

  /** Connects another client to the database, such as a dump. */
  async function connectOther(url: string): Promise<Client> {
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query(`SET application_name = 'another'`);
    onTestFinished(() => client.end());
    return client;
  }

  /** Returns the current statements of all connections to a database. */
  const getActivity = async (url: string) => {
    const { rows } = await watcher.query<{ query: string }>(
      `SELECT query FROM pg_stat_activity WHERE application_name = $1`,
      [new URL(url).searchParams.get('application_name')],
    );
    return rows.map(({ query }) => query);
  };

  const open = async (url: string): Promise<Storage> =>
    (await openPostgres({ url, connections: 1, workingMax: 100 })).storage;

  const isIndexed = async (client: Client) =>
    (
      await client.query(`SELECT bool_and(indisvalid) AS is FROM pg_index
      WHERE indexrelid::regclass::text LIKE 'memory_vector_of_%'`)
    ).rows[0].is;

  it('a long operation on a dedicated connection does not block other calls while an index build waits for a dump, and ends on close, which also releases the embedding claims', async () => {
    const url = await createDatabase();
    const storage = await open(url);
    const [dump, client] = [await connectOther(url), await connectOther(url)];
    await storage.useModel('model');
    for (const id of ['a', 'b']) await storage.store(newMemory({ id }));
    const batch = { limit: 10, maxChars: 1000, maxReembeddingChars: 1000 };
    const [first] = (await storage.pendingEmbeddings('model', batch)).memories;
    await dump.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM memory');
    await storage.putVectors('model', [
      { ordinal: first?.ordinal ?? 0, revision: 1, vectors: [Float32Array.of(1, 0)] },
    ]);
    await expect.poll(() => getActivity(url)).toContainEqual(expect.stringContaining('CREATE INDEX'));

    expect((await storage.stats('default', 2)).working_count).toBe(2);
    await storage.close();
    expect((await client.query('SELECT claimed_by FROM pending_embedding')).rows).toEqual([{ claimed_by: '' }]);
    await expect.poll(() => getActivity(url)).toEqual([]);
    await dump.query('COMMIT');

    expect(await isIndexed(client)).toBe(false);
    const again = await open(url);
    await again.useModel('model');
    await expect.poll(() => isIndexed(client)).toBe(true);
    await again.close();
  });

  it('a long operation on a dedicated connection does not block other calls while an export is created, and ends on close', async () => {
    const url = await createDatabase();
    const storage = await open(url);
    const other = await connectOther(url);
    await other.query('BEGIN; LOCK TABLE memory');
    const copy = expect(storage.exportRecords('default')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect.poll(() => getActivity(url)).toContainEqual(expect.stringContaining('FROM memory'));
    expect(await storage.isMigrating()).toBe(false);
    await storage.close();
    await copy;
    await expect.poll(() => getActivity(url)).toEqual([]);
    await other.query('COMMIT');
  });

  it('ends on close while the server runs a statement', async () => {
    const url = await createDatabase();
    const connection = connect({ url, connections: 1 });
    const sleeping = expect(
      connection.withoutTransaction((queries) => queries.script('SELECT pg_sleep(3600)')),
    ).rejects;
    await expect.poll(() => getActivity(url)).toContainEqual(expect.stringContaining('pg_sleep'));
    expect(await connection.row(sql`SELECT 1 AS one`)).toEqual({ one: 1 });
    await connection.close();
    await sleeping.toMatchObject({ code: 'UNAVAILABLE' });
    await expect.poll(() => getActivity(url)).toEqual([]);
  });

  it('ends on close while the connection is being opened', async () => {
    const url = await createDatabase();
    const connection = connect({ url, connections: 1 });
    const rejected = expect(
      connection.withoutTransaction((queries) => queries.script('SELECT pg_sleep(3600)')),
    ).rejects;
    await connection.close();
    await rejected.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('ends when its signal is aborted', async () => {
    const url = await createDatabase();
    const connection = connect({ url, connections: 1 });
    const controller = new AbortController();
    const reading = connection.dedicatedSnapshot((queries) => {
      controller.abort();
      return queries.row(sql`SELECT pg_sleep(3600)`);
    }, controller.signal);
    await expect(reading).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await connection.close();
  });
});
