import type { TelemetryEvent } from '@memoryd/engine';
import { type SearchRequest, type Storage, sql } from '@memoryd/engine/storage-kit';
import { newMemory } from '@memoryd/engine/storage-testing';
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

  /** Lets the replica fall behind, until `resume`. */
  const pause = () => replicaServer.query('SELECT pg_wal_replay_pause()');
  const resume = () => replicaServer.query('SELECT pg_wal_replay_resume()');

  /** A new database, with where its replica is. */
  async function addresses(): Promise<{ url: string; readUrl: string }> {
    const url = await server.create();
    onTestFinished(() => server.drop(url));
    const readUrl = new URL(REPLICA_ADDRESS);
    readUrl.search = new URL(url).search;
    return { url, readUrl: readUrl.href };
  }

  async function open(at: { url: string; readUrl?: string }, told: TelemetryEvent[] = []): Promise<Storage> {
    const telemetry = { report: (event: TelemetryEvent) => void told.push(event) };
    const { storage } = await openPostgres({ ...at, telemetry, connections: 2, workingMax: 1000 });
    onTestFinished(() => storage.close());
    return storage;
  }

  const refusal = {
    code: 'UNAVAILABLE',
    message: expect.stringContaining('databaseReadUrl leads to another database'),
  };

  const asked: SearchRequest = {
    namespace: 'default',
    text: 'axolotl',
    filter: {},
    now: 10,
    poolSize: 10,
    tailSize: 0,
  };

  async function found(storage: Storage, request: Partial<SearchRequest> = {}): Promise<number[]> {
    return [...(await storage.search({ ...asked, ...request })).ordinals].sort((a, b) => a - b);
  }

  async function store(storage: Storage, id: string): Promise<number> {
    const stored = await storage.store(memory(id));
    return stored.outcome === 'stored' ? stored.ordinal : 0;
  }

  /** Waits until a search finds just these. */
  async function caughtUp(storage: Storage, ordinals: number[]): Promise<void> {
    await expect.poll(() => found(storage)).toEqual(ordinals);
  }

  /**
   * Lets the replica fall behind at a time when one storage asks it: which knows nothing then of what another stores. Until
   * the replica has caught up with what else is written on the server, the database itself is asked.
   */
  async function fallBehind(asking: Storage, other: Storage, ordinals: number[]): Promise<void> {
    await expect
      .poll(
        async () => {
          await resume();
          await caughtUp(asking, ordinals);
          await pause();
          const unseen = await store(other, 'unseen');
          const seen = await found(asking);
          await other.forget('default', 'unseen');
          return seen.includes(unseen);
        },
        { timeout: 30_000 },
      )
      .toBe(false);
  }

  it('is not asked about what this process has just written, and about what others have it is', async () => {
    const at = await addresses();
    const [writer, reader] = [await open(at), await open(at)];
    const first = await store(writer, 'first');
    await fallBehind(reader, writer, [first]);
    const second = await store(writer, 'second');
    expect(await found(writer)).toEqual([first, second]);
    expect(await found(reader)).toEqual([first]);
    expect(await found(reader, { isUpToDate: true })).toEqual([first, second]);
    await resume();
    await caughtUp(reader, [first, second]);
    // The writer asks it again.
    await fallBehind(writer, reader, [first, second]);
  });

  it('gives out no text that was forgotten or replaced, however far it is behind', async () => {
    const at = await addresses();
    const [writer, reader] = [await open(at), await open(at)];
    const ordinals = [await store(writer, 'first'), await store(writer, 'second')];
    await fallBehind(reader, writer, ordinals);
    await writer.forget('default', 'first');
    await writer.update({ namespace: 'default', id: 'second', at: 2, content: 'the tapir' });
    expect(await found(reader)).toEqual(ordinals);
    const { answers } = await reader.answer({ ...asked, ranking: { limit: 10 }, maxBytes: 1_000_000 });
    expect(answers.map(({ memory }) => memory.content)).toEqual(['the tapir']);
  });

  it('that fails is told of once, and what was asked is answered by the database', async () => {
    const { url } = await addresses();
    const told: TelemetryEvent[] = [];
    const storage = await open({ url, readUrl: 'postgres://nobody@127.0.0.1:1/none' }, told);
    const ordinal = await store(storage, 'first');
    for (let i = 0; i < 3; i++) expect(await found(storage)).toEqual([ordinal]);
    expect(told.map(({ event }) => event)).toEqual(['replica_unavailable']);
    expect(await storage.condition()).toEqual({ replicationLagSeconds: Number.POSITIVE_INFINITY });
  });

  it('says how far it is behind, which is nothing once it has replayed what there is', async () => {
    const at = await addresses();
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

  it('is refused at the start where its address leads to another database of the server', async () => {
    const { url, readUrl } = await addresses();
    const other = new URL(readUrl);
    other.pathname = '/template1';
    await expect(open({ url, readUrl: other.href })).rejects.toMatchObject(refusal);
  });

  it('is refused at the start where its address leads to another schema', async () => {
    const [{ url }, other] = [await addresses(), await addresses()];
    await open(other);
    // As soon as it has replayed the tables there.
    const opening = () =>
      openPostgres({ url, readUrl: other.readUrl, workingMax: 1000 }).then(
        ({ storage }) => storage.close(),
        (error: unknown) => error,
      );
    await expect.poll(opening).toMatchObject(refusal);
  });

  it('that turns out to be another database later is not asked', async () => {
    const [at, other] = [await addresses(), await addresses()];
    for (const { url } of [at, other]) await (await open({ url })).store(memory('first'));
    const primary = connect({ url: at.url, connections: 1 });
    onTestFinished(() => primary.close());
    const told: TelemetryEvent[] = [];
    const telemetry = { report: (event: TelemetryEvent) => void told.push(event) };
    const replica = new Replica(primary, connect({ url: other.url, connections: 1 }), { telemetry });
    onTestFinished(() => replica.close());
    expect(await replica.ask('default', async (connection) => connection === primary)).toBe(true);
    expect(told).toMatchObject([{ event: 'replica_unavailable', error: refusal }]);
  });

  it('that is none is not asked', async () => {
    const { url } = await addresses();
    const told: TelemetryEvent[] = [];
    const storage = await open({ url, readUrl: url }, told);
    const ordinal = await store(storage, 'first');
    expect(await found(storage)).toEqual([ordinal]);
    expect(told.map(({ event }) => event)).toEqual(['replica_unavailable']);
  });

  it('is asked until it is ten seconds behind, and again when it has caught up', async () => {
    const at = await addresses();
    await (await open(at)).store(memory('first'));
    const [primary, behind] = [at.url, at.readUrl].map((url) => connect({ url, connections: 1 })) as [
      Connection,
      Connection,
    ];
    onTestFinished(() => primary.close());
    let elapsedMs = 0;
    const replica = new Replica(primary, behind, { elapsedMs: () => elapsedMs });
    onTestFinished(() => replica.close());
    const isAsked = () => replica.ask('default', async (connection) => connection === behind);
    await expect.poll(isAsked).toBe(true);
    await pause();
    await primary.run(sql`UPDATE memory SET updated_at = updated_at`);
    elapsedMs += 9000;
    expect(await isAsked()).toBe(true);
    elapsedMs += 2000;
    expect(await isAsked()).toBe(false);
    await resume();
    await expect
      .poll(
        () => {
          elapsedMs += 1001;
          return isAsked();
        },
        { timeout: 20_000 },
      )
      .toBe(true);
  });
});
