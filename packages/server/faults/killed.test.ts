import { existsSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { MemoryEvent, StoreBatchResponse, StoreResponse } from '@memoryd/contract';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createClient } from '../../client/conformance/service.ts';
import { startEmbeddingServer } from '../../engine/src/embedding/embedding-server.fixture.ts';
import { type DatabaseServer, usePostgres } from '../../postgres/src/database.fixture.ts';
import { isAddress } from '../conformance/databases.ts';
import { parseRaw, send } from '../conformance/http.ts';
import {
  eventually,
  freePort,
  launch,
  type ServerProcess,
  temporaryFolder,
  untilHealthy,
} from '../conformance/process.ts';
import { expectRefusal } from '../conformance/refusal.ts';
import { type Client, expectCleanEnd, startClient, startProcessClient, WORDS_ONLY } from '../conformance/under-test.ts';
import { beginRequest } from '../conformance/unfinished-request.ts';

// Servers start one after the other, on a machine that may be busy.
vi.setConfig({ testTimeout: 240_000 });

const env = WORDS_ONLY;

/** Stores memories of these texts as one batch. */
function storeBatch(client: Client, texts: readonly string[]): Promise<StoreBatchResponse> {
  const json = texts.map((content) => ({ content }));
  return client.ok<StoreBatchResponse>({ method: 'POST', path: '/store/batch', json });
}

const numbered = (count: number, text: string) => Array.from({ length: count }, (_, n) => `${text} ${n}`);

/**
 * Stores many memories at once. Resolves as soon as `enough` stores are answered, with the ids of all that are answered
 * until then and later, and with a promise that all stores have ended.
 */
function storm(
  client: Client,
  count: number,
  enough: number,
): Promise<{ answered: string[]; ended: Promise<unknown> }> {
  const answered: string[] = [];
  return new Promise((resolve) => {
    const storing = numbered(count, 'storm').map(async (content) => {
      const request = { method: 'POST', path: '/store', json: { content } };
      const answer = await send<StoreResponse>(client.server.port, request).catch(() => undefined);
      if (answer?.status !== 200) return;
      answered.push(answer.body.id);
      if (answered.length === enough) resolve({ answered, ended: Promise.all(storing) });
    });
  });
}

/** Tries with more and more memories until something was cut off before its end, however fast the machine is. */
async function untilCutOff<T>(attempt: (count: number) => Promise<T | undefined>): Promise<T> {
  for (let count = 2000; count <= 64_000; count *= 2) {
    const result = await attempt(count);
    if (result !== undefined) return result;
  }
  throw new Error('the server ended everything before it was killed');
}

describe.each(['file', 'PostgreSQL database'] as const)('on a %s', (kind) => {
  let postgres: DatabaseServer;
  const addresses: string[] = [];

  beforeAll(async () => {
    postgres = await usePostgres();
  });
  afterAll(async () => {
    for (const address of addresses) await postgres.drop(address);
    await postgres.close();
  });

  async function newDatabase(): Promise<string> {
    if (kind === 'file') return join(temporaryFolder(), 'memory.db');
    const address = await postgres.create();
    addresses.push(address);
    return address;
  }

  const start = async () => startProcessClient({ env, database: await newDatabase() });
  const startAgain = ({ server: { database } }: Client) => startClient({ env, database });

  describe('a server that is told to stop', () => {
    it.each(['SIGTERM', 'SIGINT'] as const)(
      'by %s ends with code 0, and leaves no log beside a database file',
      async (signal) => {
        const client = await start();
        await client.storeAll(numbered(100, 'kept').map((content) => ({ content })));
        const { code, stderr } = await client.server.stop(signal);
        expect(code, stderr).toBe(0);
        const { database } = client.server;
        if (isAddress(database)) return;
        const files = [database, `${database}-wal`, `${database}-shm`];
        expect(files.map((file) => existsSync(file))).toEqual([true, false, false]);
      },
    );

    it('keeps every memory whose store was answered before SIGTERM', async () => {
      const client = await start();
      const { answered, ended } = await storm(client, 300, 20);
      const { code } = await client.server.stop();
      await ended;
      expect(code).toBe(0);
      const second = await startAgain(client);
      for (const id of answered) expect(await second.getStatus(id)).toBe(200);
      await expectCleanEnd(second.server);
    });
  });

  describe('a server that is killed', () => {
    it('right after it answered an update and a forget has done both', async () => {
      const first = await start();
      const [updated = '', forgotten = ''] = await first.storeInOrder([
        { content: 'the last words of a cassowary' },
        { content: 'the last words of a pangolin' },
      ]);
      const answer = await first.update(updated, { content: 'the revised words of a cassowary' });
      await first.server.kill();
      expect(answer.status).toBe(200);
      const second = await startProcessClient({ env, database: first.server.database });
      expect((await second.memory(updated)).content).toBe('the revised words of a cassowary');
      await second.forget(forgotten);
      await second.server.kill();
      const third = await startAgain(second);
      expect(await third.getStatus(forgotten)).toBe(404);
      expect(await third.recalled('words')).toEqual([updated]);
      await expectCleanEnd(third.server);
    });

    it('in the middle of 400 stores keeps every memory whose store was answered', async () => {
      const first = await start();
      const { answered, ended } = await storm(first, 400, 30);
      await first.server.kill();
      await ended;
      const second = await startAgain(first);
      const { memories, total } = await second.memories('limit=10000');
      const kept = new Set(memories.map((memory) => memory.id));
      expect(answered.filter((id) => !kept.has(id))).toEqual([]);
      expect((await second.recall('storm', 'top_k=1000')).total).toBe(total);
      await expectCleanEnd(second.server);
    });

    it('right after it answered a batch keeps every memory of the batch', async () => {
      const first = await start();
      const { results } = await storeBatch(first, numbered(1000, 'answered'));
      await first.server.kill();
      const second = await startAgain(first);
      const kept = new Set((await second.memories('limit=10000')).memories.map((memory) => memory.id));
      expect(results.filter((result) => !('id' in result && kept.has(result.id)))).toEqual([]);
      await expectCleanEnd(second.server);
    });
  });

  it('a batch that is sent again with its key after a crash cut it short is stored once', async () => {
    const cutShort = async (count: number) => {
      const request = {
        method: 'POST',
        path: '/store/batch',
        headers: { 'idempotency-key': 'over a crash' },
        json: numbered(count, 'cut short').map((content) => ({ content })),
      };
      const first = await start();
      const answer = send(first.server.port, request).catch(() => undefined);
      const storedSome = async () => (await first.memories('limit=1')).total;
      await expect.poll(storedSome, { interval: 0 }).toBeGreaterThan(0);
      await first.server.kill();
      await answer;
      const second = await startAgain(first);
      const kept = (await second.memories('limit=10000')).memories;
      if (kept.length < count) return { second, kept, request };
      await expectCleanEnd(second.server);
      return undefined;
    };
    const { second, kept, request } = await untilCutOff(cutShort);
    const count = request.json.length;
    const { stored_count, results } = await second.ok<StoreBatchResponse>(request);
    expect(stored_count).toBe(count);
    expect((await second.memories('limit=1')).total).toBe(count);
    expect(kept.length).toBeGreaterThan(0);
    const idOfText = new Map(results.map((result, n) => [request.json[n]?.content, 'id' in result && result.id]));
    for (const { id, content } of kept) expect(idOfText.get(content)).toBe(id);
    await expectCleanEnd(second.server);
  });

  it('a consolidation that a crash cut off loses nothing, and the next one finishes it under its id, with counts that add up', async () => {
    const roomy = { ...env, SERVICE_WORKING_MAX: '1000000' };
    const cutOff = async (count: number) => {
      const first = await startProcessClient({ env: roomy, database: await newDatabase() });
      for (let from = 0; from < count; from += 2000) await storeBatch(first, numbered(2000, `cut off ${from}`));
      const run = send(first.server.port, { method: 'POST', path: '/consolidate' }).catch(() => undefined);
      const promotedSome = async () => (await first.stats()).episodic_count;
      await expect.poll(promotedSome, { interval: 0 }).toBeGreaterThan(0);
      await first.server.kill();
      await run;
      const second = await startClient({ env: roomy, database: first.server.database });
      const [consolidation] = (await second.consolidations()).consolidations;
      if (consolidation?.status === 'running') return { second, consolidation, count };
      await expectCleanEnd(second.server);
      return undefined;
    };
    const { second, consolidation, count } = await untilCutOff(cutOff);
    const { working_count, episodic_count } = await second.stats();
    expect(working_count + episodic_count).toBe(count);
    expect(consolidation).toMatchObject({ ended_at: null, consolidated_count: episodic_count });
    const { id } = consolidation;
    expectRefusal(await second.undo(id), { code: 'CONFLICT' });
    // The killed server does not hold it back for long: the request waits for less than a minute.
    expect(await second.consolidate()).toMatchObject({ id, consolidated_count: count });
    expect(await second.stats()).toMatchObject({ working_count: 0, episodic_count: count });
    expect((await second.consolidations()).total).toBe(1);
    expect((await second.undo(id)).status).toBe(200);
    expect(await second.stats()).toMatchObject({ working_count: count, episodic_count: 0 });
    await expectCleanEnd(second.server);
  });
});

describe('a model that is new to the database', () => {
  it.each([
    { row: 'of other dimensions', dimensions: 512 },
    { row: 'of equal dimensions', dimensions: 256 },
  ])('$row goes on with embedding anew after a crash', async ({ dimensions }) => {
    const remote = await startEmbeddingServer();
    onTestFinished(() => remote.close());
    const database = join(temporaryFolder(), 'memory.db');
    const environment = () => ({
      SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0',
      SERVICE_EMBEDDER: `openai:${remote.model}`,
      SERVICE_EMBEDDING_URL: remote.url,
    });
    const filled = await startClient({ env: environment(), database });
    const cat = await filled.store({ content: 'The cat sleeps beneath our stove.' });
    await storeBatch(filled, numbered(80, 'The harbour log, entry'));
    const ferry = await filled.store({ content: 'The ferry leaves at seven.' });
    await filled.embedded();
    await expectCleanEnd(filled.server);

    // The last memories wait until the service is there again.
    let isHeld = true;
    Object.assign(remote, { model: 'other-words', dimensions });
    remote.fault = (inputs) => (isHeld && inputs.includes('The harbour log, entry 70') ? 'disconnect' : undefined);
    const crashed = await startProcessClient({ env: environment(), database });
    const embeddedSome = async () => (await crashed.stats()).embedding?.embedded;
    await expect.poll(embeddedSome).toBeGreaterThan(0);
    await crashed.server.kill();

    const client = await startClient({ env: environment(), database });
    await eventually('the embedder', 30_000, async () => {
      return (await client.get<{ embedder: string }>('/health')).embedder === 'ready' || undefined;
    });
    expect((await client.recalled('feline whereabouts'))[0]).toBe(cat);
    expect(await client.recalled('vessel')).not.toContain(ferry);
    const [started] = client.server.records().filter(({ event }) => event === 'reembedding_started');
    expect(started?.memories).toBeLessThan(82);
    isHeld = false;
    await client.embedded();
    expect((await client.recalled('vessel'))[0]).toBe(ferry);
    expect((await client.stats()).embedding).toMatchObject({ embedded: 82, total: 82 });
    await expectCleanEnd(client.server);
  });
});

// Each of these waits for something to stop: together they wait once.
describe.concurrent('a stop while a request is under way', () => {
  /** Waits until a server has begun to stop. */
  const untilStopping = ({ server }: Client) =>
    eventually('the stop', 20_000, () => server.lines().some((line) => line.includes('server_stopping')) || undefined);

  async function startWithRequest(): Promise<{ client: Client<ServerProcess>; socket: Socket }> {
    const client = await startProcessClient({ env });
    return { client, socket: await beginRequest(client, '/store', 1000) };
  }

  it('waits for the rest of the request, does it and returns its answer', async () => {
    const client = await startProcessClient({ env });
    const body = JSON.stringify({ content: 'in two halves' });
    const socket = await beginRequest(client, '/store', body.length, body.slice(0, 10));
    let text = '';
    socket.setEncoding('latin1').on('data', (some: string) => {
      text += some;
    });
    const ended = client.server.stop();
    await untilStopping(client);
    socket.write(body.slice(10));
    const { code } = await ended;
    expect(code).toBe(0);
    const answer = parseRaw(text);
    expect(answer.status).toBe(200);
    expect(client.server.records().map(({ event }) => event)).not.toContain('requests_cut');
    const second = await startClient({ env, database: client.server.database });
    expect((await second.memory((JSON.parse(answer.text) as StoreResponse).id)).content).toBe('in two halves');
    await expectCleanEnd(second.server);
  });

  it('ends requests that do not end by themselves, and names them in the log', async () => {
    const { client } = await startWithRequest();
    await beginRequest(client, '/store/batch', 1000);
    const { code } = await client.server.stop();
    expect(code).toBe(0);
    const records = client.server.records();
    const [cut] = records.filter(({ event }) => event === 'requests_cut');
    expect(cut).toMatchObject({ level: 'WARN', count: 2 });
    expect(cut?.requests).toMatch(/POST \/store [0-9a-f-]{36}, POST \/store\/batch [0-9a-f-]{36}/);
    expect(records.at(-1)?.event).toBe('server_stopped');
  });

  it('is not forced by the same signal again at once, as when a terminal and a supervisor both send it', async () => {
    const { client } = await startWithRequest();
    const stopped = client.server.stop();
    for (let again = 0; again < 5; again++) void client.server.stop();
    expect((await stopped).code).toBe(0);
    expect(client.server.records().at(-1)?.event).toBe('server_stopped');
  });

  it('is forced by a second signal, and the log tells what was given up', async () => {
    const { client } = await startWithRequest();
    void client.server.stop();
    await untilStopping(client);
    const { code } = await client.server.stop('SIGINT');
    expect(code).toBe(1);
    const last = client.server.records().at(-1);
    expect(last).toMatchObject({ level: 'ERROR', event: 'stop_forced', why: 'a second signal', count: 1 });
    expect(last?.requests).toContain('POST /store');
  });
});

describe('the client, while the service is killed and started anew', () => {
  it('waits for the service, stores every memory once, and follows its events again', async () => {
    const port = await freePort();
    const args = ['--host', '127.0.0.1', '--port', String(port), '--db-path', join(temporaryFolder(), 'memory.db')];
    let server = launch(args, env);
    await untilHealthy(port, server);
    const client = createClient(port, { retries: 20, retryDelayMs: 10 });
    const events: MemoryEvent['type'][] = [];
    const leaving = new AbortController();
    const reading = (async () => {
      for await (const { type } of client.events({ type: ['consolidation'] }, leaving.signal)) events.push(type);
    })();
    const ids: string[] = [];
    const write = async (name: number) => {
      for (let n = 0; n < 40; n++) {
        ids.push((await client.store({ content: `${name} says ${n}`, session_id: 'restarted' })).id);
      }
    };
    const writing = Promise.all([1, 2, 3, 4].map(write));
    for (let round = 1; round <= 2; round++) {
      await eventually('some memories', 60_000, () => ids.length > round * 30 || undefined);
      await server.end('SIGKILL');
      server = launch(args, env);
    }
    await writing;
    const { memories } = await client.session({ session_id: 'restarted' });
    expect(memories.map(({ id }) => id).sort()).toEqual(ids.sort());
    expect(new Set(ids).size).toBe(160);
    // The stream comes back after a wait of its own, and does not tell what was before the restart.
    await eventually('an event after the restart', 60_000, async () => {
      await client.consolidate();
      return events.includes('consolidation') || undefined;
    });
    leaving.abort();
    await reading;
    expect((await server.end('SIGTERM')).code).toBe(0);
  });
});
