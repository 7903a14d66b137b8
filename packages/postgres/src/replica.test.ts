import { type Storage, sql } from '@memoryd/core';
import type { TelemetryEvent } from '@memoryd/core/ports';
import type { SearchRequest } from '@memoryd/search';
import { newMemory } from '@memoryd/suites';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Connection, connect } from './connection.ts';
import { type DatabaseServer, getServerAddress, usePostgres } from './database.fixture.ts';
import { openPostgres } from './open.ts';
import { Replica } from './replica.ts';

const REPLICA_ADDRESS = getServerAddress('TEST_DATABASE_READ_URL');

const memory = (id: string) => newMemory({ id, content: `the ${id} of the axolotl` });

describe('a replica for recall', () => {
  let server: DatabaseServer;
  let replicaServer: Client;
  beforeAll(async () => {
    server = await usePostgres();
    replicaServer = new Client({ connectionString: REPLICA_ADDRESS });
    await replicaServer.connect();
  });
  afterEach(() => resume());
  afterAll(async () => {
    await replicaServer.end();
    await server.close();
  });

  /** Pauses replication until `resume`. */
  const pause = () => replicaServer.query('SELECT pg_wal_replay_pause()');
  const resume = () => replicaServer.query('SELECT pg_wal_replay_resume()');

  /** Creates a database, and returns its address and the address of its replica. */
  async function createDatabase(): Promise<{ url: string; readUrl: string }> {
    const url = await server.create();
    onTestFinished(() => server.drop(url));
    const readUrl = new URL(REPLICA_ADDRESS);
    readUrl.search = new URL(url).search;
    return { url, readUrl: readUrl.href };
  }

  async function open(at: { url: string; readUrl?: string }, reported: TelemetryEvent[] = []): Promise<Storage> {
    const telemetry = { report: (event: TelemetryEvent) => void reported.push(event) };
    const { storage } = await openPostgres({ ...at, telemetry, connections: 2, workingMax: 1000 });
    onTestFinished(() => storage.close());
    return storage;
  }

  const otherDatabaseError = {
    code: 'UNAVAILABLE',
    message: expect.stringContaining('databaseReadUrl leads to another database'),
  };

  const request: SearchRequest = {
    namespace: 'default',
    text: 'axolotl',
    filter: {},
    now: 10,
    poolSize: 10,
    tailSize: 0,
  };

  async function search(storage: Storage, fields: Partial<SearchRequest> = {}): Promise<number[]> {
    return [...(await storage.search({ ...request, ...fields })).ordinals].sort((a, b) => a - b);
  }

  async function store(storage: Storage, id: string): Promise<number> {
    const stored = await storage.store(memory(id));
    return stored.outcome === 'stored' ? stored.ordinal : 0;
  }

  /** Waits until a search returns exactly these memories. */
  async function waitUntilFound(storage: Storage, ordinals: number[]): Promise<void> {
    await expect.poll(() => search(storage)).toEqual(ordinals);
  }

  /**
   * Pauses replication at a time when `asking` uses the replica, so that it does not see memories that `other` stores. While
   * the replica has not replayed other writes on the server, `asking` uses the primary, so this is retried.
   */
  async function fallBehind(asking: Storage, other: Storage, ordinals: number[]): Promise<void> {
    await expect
      .poll(
        async () => {
          await resume();
          await waitUntilFound(asking, ordinals);
          await pause();
          const unseen = await store(other, 'unseen');
          const seen = await search(asking);
          await other.forget('default', 'unseen');
          return seen.includes(unseen);
        },
        { timeout: 30_000 },
      )
      .toBe(false);
  }

  it('a replica for recall is not used for namespaces that this process has recently written, but for namespaces that only other processes have written', async () => {
    const at = await createDatabase();
    const [writer, reader] = [await open(at), await open(at)];
    const first = await store(writer, 'first');
    await fallBehind(reader, writer, [first]);
    const second = await store(writer, 'second');
    expect(await search(writer)).toEqual([first, second]);
    expect(await search(reader)).toEqual([first]);
    expect(await search(reader, { isUpToDate: true })).toEqual([first, second]);
    await resume();
    await waitUntilFound(reader, [first, second]);
    // The writer uses the replica again.
    await fallBehind(writer, reader, [first, second]);
  });

  it('never leads to forgotten or replaced texts in results while it is behind', async () => {
    const at = await createDatabase();
    const [writer, reader] = [await open(at), await open(at)];
    const ordinals = [await store(writer, 'first'), await store(writer, 'second')];
    await fallBehind(reader, writer, ordinals);
    await writer.forget('default', 'first');
    await writer.update({ namespace: 'default', id: 'second', at: 2, content: 'the tapir' });
    expect(await search(reader)).toEqual(ordinals);
    const { results } = await reader.searchAndRank({ ...request, ranking: { limit: 10 }, maxBytes: 1_000_000 });
    expect(results.map(({ memory }) => memory.content)).toEqual(['the tapir']);
  });

  it('a replica for recall that cannot be reached is reported once, and the primary is used', async () => {
    const { url } = await createDatabase();
    const reported: TelemetryEvent[] = [];
    const storage = await open({ url, readUrl: 'postgres://nobody@127.0.0.1:1/none' }, reported);
    const ordinal = await store(storage, 'first');
    for (let i = 0; i < 3; i++) expect(await search(storage)).toEqual([ordinal]);
    expect(reported.map(({ event }) => event)).toEqual(['replica_unavailable']);
    expect(await storage.condition()).toEqual({ replicationLagSeconds: Number.POSITIVE_INFINITY });
  });

  it('a replica for recall has a replication lag while it is behind, and no lag after it has caught up', async () => {
    const at = await createDatabase();
    const storage = await open(at);
    const lag = async () => (await storage.condition()).replicationLagSeconds ?? Number.NaN;
    await expect.poll(lag).toBe(0);
    await pause();
    await store(storage, 'first');
    await expect.poll(lag).toBeGreaterThan(0);
    await resume();
    await expect.poll(lag).toBe(0);
    expect(await (await open({ url: at.url })).condition()).toEqual({});
  });

  it('a replica for recall is rejected at startup if its address leads to another database of the server', async () => {
    const { url, readUrl } = await createDatabase();
    const other = new URL(readUrl);
    other.pathname = '/template1';
    await expect(open({ url, readUrl: other.href })).rejects.toMatchObject(otherDatabaseError);
  });

  it('a replica for recall is rejected at startup if its address leads to another schema', async () => {
    const [{ url }, other] = [await createDatabase(), await createDatabase()];
    await open(other);
    // Detected as soon as the replica has replayed the tables of the other schema.
    const opening = () =>
      openPostgres({ url, readUrl: other.readUrl, workingMax: 1000 }).then(
        ({ storage }) => storage.close(),
        (error: unknown) => error,
      );
    await expect.poll(opening).toMatchObject(otherDatabaseError);
  });

  it('a replica for recall is not used if it is later detected to be another database', async () => {
    const [at, other] = [await createDatabase(), await createDatabase()];
    for (const { url } of [at, other]) await (await open({ url })).store(memory('first'));
    const primary = connect({ url: at.url, connections: 1 });
    onTestFinished(() => primary.close());
    const reported: TelemetryEvent[] = [];
    const telemetry = { report: (event: TelemetryEvent) => void reported.push(event) };
    const replica = new Replica(primary, connect({ url: other.url, connections: 1 }), { telemetry });
    onTestFinished(() => replica.close());
    expect(await replica.read('default', async (connection) => connection === primary)).toBe(true);
    expect(reported).toMatchObject([{ event: 'replica_unavailable', error: otherDatabaseError }]);
  });

  it('a replica for recall is not used if its server is a primary', async () => {
    const { url } = await createDatabase();
    const reported: TelemetryEvent[] = [];
    const storage = await open({ url, readUrl: url }, reported);
    const ordinal = await store(storage, 'first');
    expect(await search(storage)).toEqual([ordinal]);
    expect(reported.map(({ event }) => event)).toEqual(['replica_unavailable']);
  });

  it('a replica for recall is used until it is 10 seconds behind, and again after it has caught up', async () => {
    const at = await createDatabase();
    await (await open(at)).store(memory('first'));
    const [primary, behind] = [at.url, at.readUrl].map((url) => connect({ url, connections: 1 })) as [
      Connection,
      Connection,
    ];
    onTestFinished(() => primary.close());
    let elapsedMs = 0;
    const replica = new Replica(primary, behind, { elapsedMs: () => elapsedMs });
    onTestFinished(() => replica.close());
    const isUsed = () => replica.read('default', async (connection) => connection === behind);
    await expect.poll(isUsed).toBe(true);
    await pause();
    await primary.run(sql`UPDATE memory SET updated_at = updated_at`);
    elapsedMs += 9000;
    expect(await isUsed()).toBe(true);
    elapsedMs += 2000;
    expect(await isUsed()).toBe(false);
    await resume();
    await expect
      .poll(
        () => {
          elapsedMs += 1001;
          return isUsed();
        },
        { timeout: 20_000 },
      )
      .toBe(true);
  });
});
