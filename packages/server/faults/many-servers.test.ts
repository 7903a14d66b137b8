import type { ConsolidateResponse, StatsResponse, TierCounts } from '@memoryd/contract';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startEmbeddingServer } from '../../engine/src/embedding/embedding-server.fixture.ts';
import { type DatabaseServer, usePostgres } from '../../postgres/src/database.fixture.ts';
import { type EventReader, readEvents } from '../conformance/event-reader.ts';
import { send } from '../conformance/http.ts';
import { eventually, runServer, type ServerProcess } from '../conformance/process.ts';
import { type Client, expectCleanEnd, startProcessClient, WORDS_ONLY } from '../conformance/under-test.ts';
import { checkIntegrity } from './integrity.ts';
import { createOutcome, PatientClient, waitForWrites } from './patient-client.ts';
import { Random } from './random.ts';

const SEED = Number(process.env.FAULTS_SEED ?? Math.floor(Math.random() * 2 ** 31));
const SERVERS = 4;

describe('four servers on one PostgreSQL database', () => {
  let postgres: DatabaseServer;
  let database: string;
  let servers: Client<ServerProcess>[];
  let first: Client;
  let others: Client<ServerProcess>[];

  beforeAll(async () => {
    postgres = await usePostgres();
    database = await postgres.create();
    servers = await Promise.all(Array.from({ length: SERVERS }, () => start()));
    [first, ...others] = servers as [Client, ...Client<ServerProcess>[]];
  });
  afterAll(async () => {
    const { password } = new URL(database);
    for (const { server } of servers) {
      expect(server.lines().join('\n')).not.toContain(password);
      await expectCleanEnd(server);
    }
    await postgres.drop(database);
    await postgres.close();
  });

  function start(): Promise<Client<ServerProcess>> {
    return startProcessClient({ database, env: { ...WORDS_ONLY, SERVICE_DATABASE_CONNECTIONS: '6' } });
  }

  const getCounts = ({ working_count, episodic_count, semantic_count }: TierCounts) => ({
    working_count,
    episodic_count,
    semantic_count,
  });

  /** Retries `POST /consolidate` until one call succeeds. */
  async function consolidate({ server }: Client): Promise<void> {
    await eventually('a consolidation', 100_000, async () => {
      const answer = await send(server.port, { method: 'POST', path: '/consolidate' }).catch(() => undefined);
      return answer?.status === 200 || undefined;
    });
  }

  /** Opens an event stream, and closes it when the test finishes. */
  async function openEvents({ server }: Client, parameters = ''): Promise<EventReader> {
    const reader = await readEvents(server.port, parameters);
    onTestFinished(() => reader.leave());
    return reader;
  }

  it("four servers on one PostgreSQL database see each other's stores, updates and forgets at the next request", async () => {
    for (const [n, one] of servers.entries()) {
      const id = await one.store({ content: `the axolotl of ${n}` });
      for (const other of servers) expect(await other.recalled('axolotl')).toContain(id);
      await one.update(id, { content: `the tapir of ${n}` });
      for (const other of servers) expect((await other.memory(id)).content).toBe(`the tapir of ${n}`);
      await one.forget(id);
      for (const other of servers) expect(await other.getStatus(id)).toBe(404);
    }
  });

  it('four servers on one PostgreSQL database send the events of all servers to every event stream, in the order of each memory', async () => {
    const readers = await Promise.all(servers.map((server) => openEvents(server, 'type=stored&type=forgotten')));
    const ids: string[] = [];
    for (const server of servers) {
      const id = await server.store({ content: 'sent to everybody' });
      await server.forget(id);
      ids.push(id);
    }
    for (const reader of readers) {
      const events = await reader.until(2 * SERVERS);
      for (const id of ids) {
        const types = events.filter((event) => 'memory_ids' in event && event.memory_ids.includes(id));
        expect(types.map(({ type }) => type)).toEqual(['stored', 'forgotten']);
      }
      expect(new Set(events.map((event) => event.id)).size).toBe(events.length);
    }
  });

  it('four servers on one PostgreSQL database run one consolidation at a time, and promote each memory once despite concurrent calls', async () => {
    await first.storeAll(Array.from({ length: 60 }, (_, n) => ({ content: `to be promoted: ${n}` })));
    const before = (await first.stats()).episodic_count;
    const answers = await Promise.all(
      servers.map((server) => server.ok<ConsolidateResponse>({ method: 'POST', path: '/consolidate' })),
    );
    expect(answers.reduce((sum, { consolidated_count }) => sum + consolidated_count, 0)).toBe(60);
    for (const server of servers) {
      expect(await server.stats()).toMatchObject({ working_count: 0, episodic_count: before + 60 });
    }
  });

  it('four servers on one PostgreSQL database return the same counts', async () => {
    await first.store({ content: 'counted by all' });
    const answers: StatsResponse[] = [];
    for (const server of servers) answers.push(await server.stats());
    const [one] = answers as [StatsResponse];
    for (const other of answers) expect(getCounts(other)).toEqual(getCounts(one));
    for (const { db_size_mb } of answers) expect(db_size_mb).toBeGreaterThan(1);
  });

  it('four servers on one PostgreSQL database lose and duplicate no writes under mixed load with consolidations in between', {
    timeout: 180_000,
  }, async () => {
    const outcome = createOutcome();
    const random = new Random(SEED);
    const clients = Array.from({ length: 12 }, (_, n) => new PatientClient(`of many ${n}`, random, outcome));
    const stop = new AbortController();
    // Round robin over the servers.
    let turn = 0;
    const port = () => servers[turn++ % SERVERS]?.server.port ?? 0;
    const working = Promise.all(clients.map((client) => client.work(port, stop.signal)));
    for (let round = 0; round < 4; round++) {
      await Promise.race([waitForWrites(outcome, 100), working]);
      await consolidate(servers[round] as Client);
    }
    stop.abort();
    await working;
    for (const client of clients) for (const server of servers) await client.check(server);
    const { acknowledged, retried, lost, duplicated } = outcome;
    // biome-ignore lint/suspicious/noConsole: prints the results and the seed that reproduces the run
    console.log(`four servers, seed ${SEED}: acknowledged ${acknowledged}, lost ${lost.length}, retried ${retried}`);
    expect({ lost, duplicated }).toEqual({ lost: [], duplicated: [] });
    expect(await checkIntegrity(database)).toEqual([]);
  });

  it('four servers on one PostgreSQL database continue to work after one of the servers is killed during a consolidation', {
    timeout: 120_000,
  }, async () => {
    const doomed = await start();
    await doomed.storeAll(Array.from({ length: 200 }, (_, n) => ({ content: `interrupted ${n}` })));
    const interrupted = doomed.send({ method: 'POST', path: '/consolidate' }).catch(() => undefined);
    await doomed.server.kill();
    await interrupted;
    await consolidate(first);
    for (const server of servers) expect((await server.stats()).working_count).toBe(0);
    expect(await checkIntegrity(database)).toEqual([]);
  });

  // Must be the last test: from here on, requests need a key.
  it('four servers on one PostgreSQL database reject a revoked key on every server, and close the event stream of the key', async () => {
    const command = (...args: string[]) => runServer(['keys', ...args, '--database-url', database]);
    const key = (await command('add', '--scope', 'read')).stdout.trim();
    const statusWith = async (server: Client) =>
      (await server.send({ path: '/stats', headers: { authorization: `Bearer ${key}` } })).status;
    for (const server of servers)
      await eventually('the key', 20_000, async () => (await statusWith(server)) === 200 || undefined);
    const reader = await readEvents(others[0]?.server.port ?? 0, '', undefined, { authorization: `Bearer ${key}` });
    await command('revoke', key.split('_')[1] ?? '');
    for (const server of servers)
      await eventually('401', 20_000, async () => (await statusWith(server)) === 401 || undefined);
    expect(await reader.ended).toBeDefined();
  });
});

describe('two servers with a new embedding model', () => {
  it('two servers with a new embedding model share the re-embedding, and embed each text once', {
    timeout: 180_000,
  }, async () => {
    const postgres = await usePostgres();
    const database = await postgres.create();
    const embeddings = await startEmbeddingServer();
    const start = (key: string) =>
      startProcessClient({
        database,
        env: {
          SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0',
          SERVICE_EMBEDDER: `openai:${embeddings.model}`,
          SERVICE_EMBEDDING_URL: embeddings.url,
          SERVICE_EMBEDDING_API_KEY: key,
        },
      });
    const texts = Array.from({ length: 900 }, (_, n) => `shared work ${n}`);
    const old = await start('old');
    await old.ok({ method: 'POST', path: '/store/batch', json: texts.map((content) => ({ content })) });
    await expectCleanEnd(old.server);

    embeddings.model = 'better-words';
    embeddings.fault = () => 'disconnect';
    const newer = await Promise.all(['one', 'two'].map(start));
    const from = embeddings.requests.length;
    embeddings.fault = undefined;
    const isDone = async () => (await newer[0]?.stats())?.pending_embeddings === 0 || undefined;
    await eventually('all vectors', 120_000, isDone);
    const requests = embeddings.requests.slice(from).filter(({ inputs }) => inputs[0]?.startsWith('shared work'));
    const sent = requests.flatMap(({ inputs }) => inputs);
    expect([sent.length, new Set(sent).size]).toEqual([texts.length, texts.length]);
    const senders = new Set(requests.map(({ headers }) => headers.authorization));
    expect(senders).toEqual(new Set(['Bearer one', 'Bearer two']));
    for (const { server } of newer) await expectCleanEnd(server);
    await embeddings.close();
    await postgres.drop(database);
    await postgres.close();
  });
});
