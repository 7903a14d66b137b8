import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MemoryApi } from '@memoryd/contract';
import { type DatabaseServer, TEST_CONNECTIONS, usePostgres } from '@memoryd/postgres/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Engine } from './engine.ts';
import { openEngine } from './open-engine.ts';
import { type RerankServer, startRerankServer } from './reranking/rerank-server.fixture.ts';

const QUERY = 'where does the red heron nest';
const ADA = { user_id: 'ada' };

let postgres: DatabaseServer;
beforeAll(async () => {
  postgres = await usePostgres();
});
afterAll(() => postgres.close());

let reranker: RerankServer;
let isClosed = false;
beforeEach(async () => {
  reranker = await startRerankServer();
  isClosed = false;
});
afterEach(() => release());

/** Ends the recalls that wait for the reranker. */
async function release(): Promise<void> {
  if (!isClosed) await reranker.close();
  isClosed = true;
}

/** Opens an engine whose recalls wait for the reranker, and closes it at the end of the test. */
async function openAt(database: string): Promise<Engine> {
  const engine = await openEngine(database, {
    embedder: 'none',
    consolidationIntervalSeconds: 0,
    logQueries: true,
    rerankUrl: reranker.url,
    rerankTimeoutMs: 30_000,
    telemetry: { report: () => {} },
    ...(database.startsWith('postgres') && { databaseConnections: TEST_CONNECTIONS }),
  });
  onTestFinished(() => engine.close());
  return engine;
}

async function createPostgres(): Promise<string> {
  const url = await postgres.create();
  onTestFinished(() => postgres.drop(url));
  return url;
}

async function createFile(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'recalls-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, 'memory.db');
}

const store = (memory: MemoryApi) =>
  memory.store({ content: 'The red heron nests at the lake.', session_id: 'notes', ...ADA });

/** Begins a recall or a context that waits for the reranker. Returns a function that ends it. */
async function begin(ask: () => Promise<unknown>): Promise<() => Promise<void>> {
  const before = reranker.requests.length;
  reranker.fault = 'hang';
  const response = ask();
  await expect.poll(() => reranker.requests.length).toBe(before + 1);
  return async () => {
    await release();
    await response;
  };
}

type Act = (memory: MemoryApi, engine: Engine) => Promise<unknown>;
const recall: Act = (memory) => memory.recall({ query: QUERY, ...ADA });
const context: Act = (memory) => memory.context({ query: QUERY, session_id: 'chat', ...ADA });

describe.each([
  ['SQLite', createFile],
  ['PostgreSQL', createPostgres],
])('recalls that are running in %s', (_, createDatabase) => {
  it.each<[string, Act, Act]>([
    ['a recall', recall, (memory) => memory.forgetMany(ADA)],
    ['a recall', recall, (_memory, { namespaces }) => namespaces.delete('default')],
    ['a context', context, (memory) => memory.forgetMany(ADA)],
    ['a context', context, (memory) => memory.forgetMany({ session_id: 'chat' })],
  ])('%s is not remembered if its scope is forgotten before it ends', async (_kind, ask, forget) => {
    const engine = await openAt(await createDatabase());
    const memory = engine.namespace('default');
    await store(memory);
    const end = await begin(() => ask(memory, engine));
    await forget(memory, engine);
    await end();
    expect(await memory.recalls(ADA)).toEqual({ recalls: [], total: 0, is_remembered: true });
    expect(await memory.recalls()).toMatchObject({ total: 0 });
  });

  it('a recall is remembered if another user is forgotten before it ends', async () => {
    const engine = await openAt(await createDatabase());
    const memory = engine.namespace('default');
    await store(memory);
    const end = await begin(() => recall(memory, engine));
    await memory.forgetMany({ user_id: 'ben' });
    await end();
    expect((await memory.recalls(ADA)).recalls).toMatchObject([{ query: QUERY, count: 1 }]);
  });
});

describe('two engines on one PostgreSQL database', () => {
  it('a running recall is not remembered if another engine forgets its user before it ends', async () => {
    const url = await createPostgres();
    const [engine, other] = [await openAt(url), await openAt(url)];
    const memory = engine.namespace('default');
    await store(memory);
    await recall(memory, engine);
    expect(await memory.recalls(ADA)).toMatchObject({ total: 1 });
    const end = await begin(() => recall(memory, engine));
    await other.namespace('default').forgetMany(ADA);
    await expect.poll(async () => (await memory.recalls(ADA)).total).toBe(0);
    await end();
    expect(await memory.recalls(ADA)).toMatchObject({ recalls: [], total: 0 });
  });
});
