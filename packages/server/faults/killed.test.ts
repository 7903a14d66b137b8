import { existsSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type {
  ImportsResponse,
  ImportTextsResponse,
  MemoryEvent,
  StoreBatchResponse,
  StoreResponse,
} from '@memoryd/contract';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createClient } from '../../client/conformance/service.ts';
import { startEmbeddingServer } from '../../engine/src/embedding/embedding-server.fixture.ts';
import { type DatabaseServer, usePostgres } from '../../postgres/src/database.fixture.ts';
import { isAddress } from '../conformance/databases.ts';
import { parseRaw, send } from '../conformance/http.ts';
import {
  createTemporaryFolder,
  eventually,
  freePort,
  launch,
  type ServerProcess,
  untilHealthy,
} from '../conformance/process.ts';
import { expectError } from '../conformance/refusal.ts';
import { type Client, expectCleanEnd, startClient, startProcessClient, WORDS_ONLY } from '../conformance/under-test.ts';
import { beginRequest } from '../conformance/unfinished-request.ts';

// Servers start one after the other, possibly on a loaded machine.
vi.setConfig({ testTimeout: 240_000 });

const env = WORDS_ONLY;

function storeBatch(client: Client, texts: readonly string[]): Promise<StoreBatchResponse> {
  const json = texts.map((content) => ({ content }));
  return client.ok<StoreBatchResponse>({ method: 'POST', path: '/store/batch', json });
}

const createTexts = (count: number, text: string) => Array.from({ length: count }, (_, n) => `${text} ${n}`);

/**
 * Stores `count` memories concurrently. Resolves once `minAcknowledged` stores have succeeded.
 *
 * @returns the acknowledged ids, a list that later stores extend, and a promise that resolves when all stores have ended
 */
function storeConcurrently(
  client: Client,
  count: number,
  minAcknowledged: number,
): Promise<{ acknowledged: string[]; ended: Promise<unknown> }> {
  const acknowledged: string[] = [];
  return new Promise((resolve) => {
    const storing = createTexts(count, 'concurrent').map(async (content) => {
      const request = { method: 'POST', path: '/store', json: { content } };
      const answer = await send<StoreResponse>(client.server.port, request).catch(() => undefined);
      if (answer?.status !== 200) return;
      acknowledged.push(answer.body.id);
      if (acknowledged.length === minAcknowledged) resolve({ acknowledged, ended: Promise.all(storing) });
    });
  });
}

/** Repeats an attempt with more and more memories until the kill interrupts it. Needed on fast machines. */
async function untilInterrupted<T>(
  attempt: (count: number) => Promise<T | undefined>,
  minCount = 2000,
  maxCount = 64_000,
): Promise<T> {
  for (let count = minCount; count <= maxCount; count *= 2) {
    const result = await attempt(count);
    if (result !== undefined) return result;
  }
  throw new Error('the server finished its work before every kill');
}

describe.each(['database file', 'PostgreSQL database'] as const)('on a %s', (kind) => {
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
    if (kind === 'database file') return join(createTemporaryFolder(), 'memory.db');
    const address = await postgres.create();
    addresses.push(address);
    return address;
  }

  const start = async () => startProcessClient({ env, database: await newDatabase() });
  const startAgain = ({ server: { database } }: Client) => startClient({ env, database });

  describe('a server stopped by a signal', () => {
    it.each(['SIGTERM', 'SIGINT'] as const)(
      'exits with code 0 after %s and leaves no write-ahead log next to a database file',
      async (signal) => {
        const client = await start();
        await client.storeAll(createTexts(100, 'text').map((content) => ({ content })));
        const { code, stderr } = await client.server.stop(signal);
        expect(code, stderr).toBe(0);
        const { database } = client.server;
        if (isAddress(database)) return;
        const files = [database, `${database}-wal`, `${database}-shm`];
        expect(files.map((file) => existsSync(file))).toEqual([true, false, false]);
      },
    );

    it('keeps every memory acknowledged before SIGTERM', async () => {
      const client = await start();
      const { acknowledged, ended } = await storeConcurrently(client, 300, 20);
      const { code } = await client.server.stop();
      await ended;
      expect(code).toBe(0);
      const second = await startAgain(client);
      for (const id of acknowledged) expect(await second.getStatus(id)).toBe(200);
      await expectCleanEnd(second.server);
    });
  });

  describe('a killed server', () => {
    it('keeps an update and a forget that were acknowledged right before the kill', async () => {
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

    it('keeps every acknowledged memory if killed during 400 stores', async () => {
      const first = await start();
      const { acknowledged, ended } = await storeConcurrently(first, 400, 30);
      await first.server.kill();
      await ended;
      const second = await startAgain(first);
      const { memories, total } = await second.memories('limit=10000');
      const stored = new Set(memories.map((memory) => memory.id));
      expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
      expect((await second.recall('concurrent', 'top_k=1000')).total).toBe(total);
      await expectCleanEnd(second.server);
    });

    it('keeps every memory of a batch that was acknowledged right before the kill', async () => {
      const first = await start();
      const { results } = await storeBatch(first, createTexts(1000, 'batch'));
      await first.server.kill();
      const second = await startAgain(first);
      const stored = new Set((await second.memories('limit=10000')).memories.map((memory) => memory.id));
      expect(results.filter((result) => !('id' in result && stored.has(result.id)))).toEqual([]);
      await expectCleanEnd(second.server);
    });
  });

  it('a batch interrupted by a crash is stored once if the client retries it with its idempotency key', async () => {
    const interruptBatch = async (count: number) => {
      const request = {
        method: 'POST',
        path: '/store/batch',
        headers: { 'idempotency-key': 'interrupted batch' },
        json: createTexts(count, 'interrupted').map((content) => ({ content })),
      };
      const first = await start();
      const answer = send(first.server.port, request).catch(() => undefined);
      const getTotal = async () => (await first.memories('limit=1')).total;
      await expect.poll(getTotal, { interval: 0 }).toBeGreaterThan(0);
      await first.server.kill();
      await answer;
      const second = await startAgain(first);
      const stored = (await second.memories('limit=10000')).memories;
      if (stored.length < count) return { second, stored, request };
      await expectCleanEnd(second.server);
      return undefined;
    };
    const { second, stored, request } = await untilInterrupted(interruptBatch);
    const count = request.json.length;
    const { stored_count, results } = await second.ok<StoreBatchResponse>(request);
    expect(stored_count).toBe(count);
    expect((await second.memories('limit=1')).total).toBe(count);
    expect(stored.length).toBeGreaterThan(0);
    const idByText = new Map(results.map((result, n) => [request.json[n]?.content, 'id' in result && result.id]));
    for (const { id, content } of stored) expect(idByText.get(content)).toBe(id);
    await expectCleanEnd(second.server);
  });

  it('an import by external ids interrupted by a crash stores nothing twice if it starts again from the beginning', async () => {
    const interruptImport = async (count: number) => {
      const createBatch = (text: string) => ({
        method: 'POST',
        path: '/store/batch',
        json: createTexts(count, text).map((content, n) => ({ content, external_id: `row ${n}` })),
      });
      const first = await start();
      await first.ok(createBatch('earlier'));
      const later = createBatch('later');
      const answer = send(first.server.port, later).catch(() => undefined);
      const getChanged = async () => (await first.recall('later', 'top_k=1')).total;
      // With pauses, because a recall on PostgreSQL takes the processor from the import that it waits for.
      await expect.poll(getChanged, { interval: 50 }).toBeGreaterThan(0);
      await first.server.kill();
      await answer;
      const second = await startAgain(first);
      const { memories, total } = await second.memories('limit=10000');
      expect(total).toBe(count);
      const changed = memories.filter(({ version }) => version > 1);
      // Each memory has either its earlier text or its whole change.
      for (const { content, version } of memories) expect(content).toMatch(version > 1 ? /^later/ : /^earlier/);
      if (changed.length < count) return { second, changed, later, count };
      await expectCleanEnd(second.server);
      return undefined;
    };
    const { second, changed, later, count } = await untilInterrupted(interruptImport, 1000, 10_000);
    const { results } = await second.ok<StoreBatchResponse>(later);
    expect(results.filter((result) => !('id' in result) || result.created)).toEqual([]);
    const { memories, total } = await second.memories('limit=10000');
    expect([total, new Set(memories.map(({ version }) => version))]).toEqual([count, new Set([2])]);
    const updatedAt = new Map(memories.map(({ id, updated_at }) => [id, updated_at]));
    for (const { id, updated_at } of changed) expect(updatedAt.get(id)).toBe(updated_at);
    await expectCleanEnd(second.server);
  });

  describe('an import of texts interrupted by a crash', () => {
    const COUNT = 4000;
    const lines = createTexts(COUNT, 'message').map(
      (content, n) => `${JSON.stringify({ content, external_id: `chatgpt:c/${n}`, created_at: '2024-05-06' })}\n`,
    );
    const path = '/imports?from=chatgpt&content_key=chats';
    const getTotal = async (client: Client) => (await client.memories('limit=1')).total;
    const getImports = async (client: Client) => (await client.get<ImportsResponse>('/imports')).imports;
    const importAll = (client: Client) =>
      client.ok<ImportTextsResponse>({ method: 'POST', path, body: lines.join('') });

    it.each([
      ['at its start', 0],
      ['in the middle', 0.5],
      ['near its end', 0.9],
    ])('continues after a kill %s, and has every text once', async (_row, share) => {
      const first = await start();
      // The last line is never sent, so the import cannot end before the kill.
      const unfinished = lines.slice(0, -1).join('');
      const socket = await beginRequest(first, path, Buffer.byteLength(unfinished) + 1, unfinished);
      await expect.poll(() => getTotal(first), { interval: 0 }).toBeGreaterThan(share * COUNT);
      await first.server.kill();
      socket.destroy();
      const second = await startAgain(first);
      const stored = await getTotal(second);
      expect(stored).toBeGreaterThan(share * COUNT);
      const [interrupted] = await getImports(second);
      expect(interrupted).toMatchObject({ ended_at: null, imported_count: stored, memory_count: stored });
      expect(await importAll(second)).toMatchObject({
        ...{ import_id: interrupted?.id, imported_count: COUNT - stored, unchanged_count: stored, refused_count: 0 },
      });
      const { memories, total } = await second.memories('limit=10000');
      expect([total, new Set(memories.map(({ external_id }) => external_id)).size]).toEqual([COUNT, COUNT]);
      expect(await getImports(second)).toMatchObject([{ ended_at: expect.any(String), memory_count: COUNT }]);
      await expectCleanEnd(second.server);
    });

    it('an import of texts is undone completely if the undo is repeated after a kill', async () => {
      const interruptUndo = async () => {
        const first = await start();
        const own = await first.store({ content: 'the answer of a cassowary' });
        const { import_id } = await importAll(first);
        const request = { method: 'DELETE', path: `/imports/${import_id}` };
        const answer = send(first.server.port, request).catch(() => undefined);
        await expect.poll(() => getTotal(first), { interval: 0 }).toBeLessThan(COUNT + 1);
        await first.server.kill();
        await answer;
        const second = await startAgain(first);
        const left = await getTotal(second);
        if (left > 1) return { second, own, left, request };
        await expectCleanEnd(second.server);
        return undefined;
      };
      const { second, own, left, request } = await untilInterrupted(interruptUndo);
      expect(await getImports(second)).toMatchObject([{ memory_count: left - 1 }]);
      expect(await second.ok(request)).toMatchObject({ forgotten_count: left - 1, kept_count: 0 });
      expect((await second.memories()).memories.map(({ id }) => id)).toEqual([own]);
      expect(await getImports(second)).toEqual([]);
      expect((await second.recall('message cassowary', 'top_k=10')).results.map(({ id }) => id)).toEqual([own]);
      expect(await importAll(second)).toMatchObject({ imported_count: COUNT, unchanged_count: 0 });
      await expectCleanEnd(second.server);
    });
  });

  it('a change of many memories interrupted by a crash is completed by a repetition, and so is its undo', async () => {
    const getTagged = async (client: Client) => (await client.memories('tag=changed&limit=1')).total;
    const json = { change_id: 'the-interrupted-change', add_tags: ['changed'], importance: 0.9 };
    const change = { method: 'PATCH', path: '/memories?source=api', json };
    const undo = { method: 'POST', path: `/changes/${json.change_id}/undo` };
    /** Sends a request, kills the server once the number of changed memories is in the middle, and starts it again. */
    const interrupt = async (client: Client, request: typeof undo, count: number) => {
      const from = await getTagged(client);
      const answer = send(client.server.port, request).catch(() => undefined);
      await expect.poll(() => getTagged(client), { interval: 0 }).not.toBe(from);
      await client.server.kill();
      await answer;
      const again = await startAgain(client);
      const tagged = await getTagged(again);
      return { again, tagged, isHalf: tagged > 0 && tagged < count };
    };
    const interruptChange = async (count: number) => {
      const first = await start();
      await storeBatch(first, createTexts(count, 'interrupted'));
      const { again, isHalf } = await interrupt(first, change, count);
      if (isHalf) return { second: again, count };
      await expectCleanEnd(again.server);
      return undefined;
    };
    const { second, count } = await untilInterrupted(interruptChange, 1000, 8000);
    expect((await second.memories('limit=1')).total).toBe(count);
    expect(await second.ok(change)).toMatchObject({ updated_count: count, unchanged_count: 0, refused_count: 0 });
    expect(await getTagged(second)).toBe(count);
    await expectCleanEnd(second.server);

    const third = await startProcessClient({ env, database: second.server.database });
    const { again: last } = await interrupt(third, undo, count);
    expect(await last.ok(undo)).toMatchObject({ restored_count: count, kept_count: 0 });
    expect(await getTagged(last)).toBe(0);
    const versions = (await last.memories('limit=1000')).memories.map(({ version, importance }) => [
      version,
      importance,
    ]);
    expect(versions).toEqual(versions.map(() => [3, 0.5]));
    await expectCleanEnd(last.server);
  });

  it('a consolidation interrupted by a crash loses no memories, and the next run completes it', async () => {
    const largeTierEnv = { ...env, SERVICE_WORKING_MAX: '1000000' };
    const interruptConsolidation = async (count: number) => {
      const first = await startProcessClient({ env: largeTierEnv, database: await newDatabase() });
      for (let from = 0; from < count; from += 2000) await storeBatch(first, createTexts(2000, `interrupted ${from}`));
      const run = send(first.server.port, { method: 'POST', path: '/consolidate' }).catch(() => undefined);
      const getEpisodicCount = async () => (await first.stats()).episodic_count;
      await expect.poll(getEpisodicCount, { interval: 0 }).toBeGreaterThan(0);
      await first.server.kill();
      await run;
      const second = await startClient({ env: largeTierEnv, database: first.server.database });
      const [consolidation] = (await second.consolidations()).consolidations;
      if (consolidation?.status === 'running') return { second, consolidation, count };
      await expectCleanEnd(second.server);
      return undefined;
    };
    const { second, consolidation, count } = await untilInterrupted(interruptConsolidation);
    const { working_count, episodic_count } = await second.stats();
    expect(working_count + episodic_count).toBe(count);
    expect(consolidation).toMatchObject({ ended_at: null, consolidated_count: episodic_count });
    const { id } = consolidation;
    expectError(await second.undo(id), { code: 'CONFLICT' });
    // The killed server's claim on the consolidation expires in less than a minute.
    expect(await second.consolidate()).toMatchObject({ id, consolidated_count: count });
    expect(await second.stats()).toMatchObject({ working_count: 0, episodic_count: count });
    expect((await second.consolidations()).total).toBe(1);
    expect((await second.undo(id)).status).toBe(200);
    expect(await second.stats()).toMatchObject({ working_count: count, episodic_count: 0 });
    await expectCleanEnd(second.server);
  });
});

describe('re-embedding with a new model', () => {
  it.each([
    { row: 'of different dimensions', dimensions: 512 },
    { row: 'of the same dimensions', dimensions: 256 },
  ])('$row continues after a crash', async ({ dimensions }) => {
    const remote = await startEmbeddingServer();
    onTestFinished(() => remote.close());
    const database = join(createTemporaryFolder(), 'memory.db');
    const environment = () => ({
      SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0',
      SERVICE_EMBEDDER: `openai:${remote.model}`,
      SERVICE_EMBEDDING_URL: remote.url,
    });
    const filled = await startClient({ env: environment(), database });
    const cat = await filled.store({ content: 'The cat sleeps beneath our stove.' });
    await storeBatch(filled, createTexts(80, 'The harbour log, entry'));
    const ferry = await filled.store({ content: 'The ferry leaves at seven.' });
    await filled.embedded();
    await expectCleanEnd(filled.server);

    // The embedding service fails for the last memories until `isHeld` is false.
    let isHeld = true;
    Object.assign(remote, { model: 'other-words', dimensions });
    remote.fault = (inputs) => (isHeld && inputs.includes('The harbour log, entry 70') ? 'disconnect' : undefined);
    const crashed = await startProcessClient({ env: environment(), database });
    const getEmbedded = async () => (await crashed.stats()).embedding?.embedded;
    await expect.poll(getEmbedded).toBeGreaterThan(0);
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

// Each test waits for a timeout during the stop; running them concurrently saves time.
describe.concurrent('stopping a server during a request', () => {
  const untilStopping = ({ server }: Client) =>
    eventually('the stop', 20_000, () => server.lines().some((line) => line.includes('server_stopping')) || undefined);

  async function startWithRequest(): Promise<{ client: Client<ServerProcess>; socket: Socket }> {
    const client = await startProcessClient({ env });
    return { client, socket: await beginRequest(client, '/store', 1000) };
  }

  it('waits for the rest of the request, executes it and returns the response', async () => {
    const client = await startProcessClient({ env });
    const body = JSON.stringify({ content: 'in two halves' });
    const socket = await beginRequest(client, '/store', body.length, body.slice(0, 10));
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
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

  it('aborts requests that do not complete in time, and logs them', async () => {
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

  it('ignores an immediate repetition of the signal, as sent by both a terminal and a supervisor', async () => {
    const { client } = await startWithRequest();
    const stopped = client.server.stop();
    for (let again = 0; again < 5; again++) void client.server.stop();
    expect((await stopped).code).toBe(0);
    expect(client.server.records().at(-1)?.event).toBe('server_stopped');
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('the end of standard input and %s are one orderly stop', async (signal) => {
    const client = await startProcessClient({ env, flags: ['--stop-with-stdin'] });
    await beginRequest(client, '/store', 1000);
    client.server.endInput();
    await untilStopping(client);
    expect((await client.server.stop(signal)).code).toBe(0);
    expect(client.server.records().at(-1)?.event).toBe('server_stopped');
  });

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'the end of standard input after %s does not force the stop',
    async (signal) => {
      const client = await startProcessClient({ env, flags: ['--stop-with-stdin'] });
      await beginRequest(client, '/store', 1000);
      const stopped = client.server.stop(signal);
      await untilStopping(client);
      client.server.endInput();
      expect((await stopped).code).toBe(0);
      expect(client.server.records().at(-1)?.event).toBe('server_stopped');
    },
  );

  it('stopping a server during a request is forced by a second signal, and the aborted requests are logged', async () => {
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

describe('the client, while the service is killed and restarted', () => {
  it('waits for the service, stores every memory once, and resumes the event stream', async () => {
    const port = await freePort();
    const args = [
      '--host',
      '127.0.0.1',
      '--port',
      String(port),
      '--db-path',
      join(createTemporaryFolder(), 'memory.db'),
    ];
    let server = launch(args, env);
    await untilHealthy(port, server);
    const client = createClient(port, { retries: 20, retryDelayMs: 10 });
    const events: MemoryEvent['type'][] = [];
    const abort = new AbortController();
    const reading = (async () => {
      for await (const { type } of client.events({ type: ['consolidation'] }, abort.signal)) events.push(type);
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
    // The stream reconnects after its own delay and does not replay events from before the restart.
    await eventually('an event after the restart', 60_000, async () => {
      await client.consolidate();
      return events.includes('consolidation') || undefined;
    });
    abort.abort();
    await reading;
    expect((await server.end('SIGTERM')).code).toBe(0);
  });
});
