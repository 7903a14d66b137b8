import { type Storage, sql } from '@memoryd/engine/storage-kit';
import { newMemory } from '@memoryd/engine/storage-testing';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { connect } from './connection.ts';
import { type DatabaseServer, getServerAddress, usePostgres } from './database.fixture.ts';
import { openPostgres } from './open.ts';

describe('what takes long has a connection of its own', () => {
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

  async function database(): Promise<string> {
    const url = await server.create();
    onTestFinished(() => server.drop(url));
    return url;
  }

  /** Somebody else at the database, a dump perhaps. */
  async function another(url: string): Promise<Client> {
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query(`SET application_name = 'another'`);
    onTestFinished(() => client.end());
    return client;
  }

  /** What the server does for whoever has a database open. */
  const doing = async (url: string) => {
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

  it('so others are served while an index waits for a dump, and closing gives it up with all claims', async () => {
    const url = await database();
    const storage = await open(url);
    const [dump, client] = [await another(url), await another(url)];
    await storage.useModel('model');
    for (const id of ['a', 'b']) await storage.store(newMemory({ id }));
    const batch = { limit: 10, maxChars: 1000, maxCharsAnew: 1000 };
    const [first] = (await storage.pendingEmbeddings('model', batch)).memories;
    await dump.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM memory');
    await storage.putVectors('model', [
      { ordinal: first?.ordinal ?? 0, revision: 1, vectors: [Float32Array.of(1, 0)] },
    ]);
    await expect.poll(() => doing(url)).toContainEqual(expect.stringContaining('CREATE INDEX'));

    expect((await storage.stats('default', 2)).working_count).toBe(2);
    await storage.close();
    expect((await client.query('SELECT claimed_by FROM pending_embedding')).rows).toEqual([{ claimed_by: '' }]);
    await expect.poll(() => doing(url)).toEqual([]);
    await dump.query('COMMIT');

    expect(await isIndexed(client)).toBe(false);
    const again = await open(url);
    await again.useModel('model');
    await expect.poll(() => isIndexed(client)).toBe(true);
    await again.close();
  });

  it('so others are served while a copy is made, and closing gives it up', async () => {
    const url = await database();
    const storage = await open(url);
    const other = await another(url);
    await other.query('BEGIN; LOCK TABLE memory');
    const copy = expect(storage.kept('default')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect.poll(() => doing(url)).toContainEqual(expect.stringContaining('FROM memory'));
    expect(await storage.isMigrating()).toBe(false);
    await storage.close();
    await copy;
    await expect.poll(() => doing(url)).toEqual([]);
    await other.query('COMMIT');
  });

  it('which ends with the connection, whatever the server does', async () => {
    const url = await database();
    const connection = connect({ url, connections: 1 });
    const sleeping = expect(connection.outside((queries) => queries.script('SELECT pg_sleep(3600)'))).rejects;
    await expect.poll(() => doing(url)).toContainEqual(expect.stringContaining('pg_sleep'));
    expect(await connection.row(sql`SELECT 1 AS one`)).toEqual({ one: 1 });
    await connection.close();
    await sleeping.toMatchObject({ code: 'UNAVAILABLE' });
    await expect.poll(() => doing(url)).toEqual([]);
  });

  it('which ends with the connection while it begins too', async () => {
    const url = await database();
    const connection = connect({ url, connections: 1 });
    const refused = expect(connection.outside((queries) => queries.script('SELECT pg_sleep(3600)'))).rejects;
    await connection.close();
    await refused.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('which whoever asked for it can give up', async () => {
    const url = await database();
    const connection = connect({ url, connections: 1 });
    const givingUp = new AbortController();
    const reading = connection.apart((queries) => {
      givingUp.abort();
      return queries.row(sql`SELECT pg_sleep(3600)`);
    }, givingUp.signal);
    await expect(reading).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await connection.close();
  });
});
