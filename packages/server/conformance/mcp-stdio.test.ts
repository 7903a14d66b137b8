import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Memory, RecallResponse, StatsResponse } from '@memoryd/contract';
import { openMemory } from '@memoryd/engine';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startEmbeddingServer } from '../../engine/src/embedding/embedding-server.fixture.ts';
import { stdioAgent } from './agent.ts';
import { runHere } from './command-here.ts';
import { temporaryFolder } from './folders.ts';
import { eventually, freePort, type Launched, launch, runServer } from './process.ts';
import type { LogRecord } from './server.ts';
import { expectCleanEnd, startClient, WORDS_ONLY } from './under-test.ts';

const newFile = () => join(temporaryFolder(), 'memory.db');

/** One message as it goes over standard output. */
interface Message {
  jsonrpc: string;
  id?: string | number;
  method?: string;
  result?: Record<string, unknown>;
  error?: { code: number; message: string };
  params?: Record<string, unknown>;
}

/** A client without a library: it writes lines, and reads what comes back. */
class Bare {
  readonly process: Launched;

  constructor(place: string, env: Record<string, string> = {}, ...args: string[]) {
    const where = place.startsWith('http://') ? '--url' : '--db-path';
    this.process = launch(['mcp', where, place, ...args], { ...WORDS_ONLY, ...env });
  }

  send(...messages: object[]): void {
    this.process.write(messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join(''));
  }

  /** Everything on standard output until now; throws where something is no message. */
  messages(): Message[] {
    return this.process.lines().map((line) => {
      const message = JSON.parse(line) as Message;
      expect(message.jsonrpc, line).toBe('2.0');
      return message;
    });
  }

  answerTo(id: number): Promise<Message> {
    return eventually(`the answer to ${id}`, 20_000, () => this.messages().find((message) => message.id === id));
  }

  async initialize(): Promise<void> {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bare', version: '1' } };
    this.send({ id: 0, method: 'initialize', params });
    await this.answerTo(0);
    this.send({ method: 'notifications/initialized' });
  }

  call(id: number, name: string, args: object, more: object = {}): object {
    return { id, method: 'tools/call', params: { name, arguments: args, ...more } };
  }

  /** Ends standard input, and answers the log once the process has ended with this code. */
  async end(code = 0): Promise<LogRecord[]> {
    this.process.endInput();
    return this.ended(code);
  }

  async ended(code: number): Promise<LogRecord[]> {
    const exit = await this.process.exited;
    expect(exit.code, exit.stderr).toBe(code);
    this.messages();
    return exit.stderr
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as LogRecord);
  }
}

describe('standard output', () => {
  it('has nothing but the protocol, with an embedder that fails, every record logged and a library that prints', async () => {
    const dbPath = newFile();
    const noise = join(temporaryFolder(), 'noise.mjs');
    // From when the database is there, in every thread.
    writeFileSync(
      noise,
      `import { existsSync } from 'node:fs';
       setInterval(() => existsSync(${JSON.stringify(dbPath)}) && console.log('noise'), 5).unref();`,
    );
    const env = {
      SERVICE_EMBEDDER: 'openai:nothing',
      SERVICE_EMBEDDING_URL: `http://127.0.0.1:${await freePort()}/v1`,
      SERVICE_LOG_LEVEL: 'debug',
      SERVICE_LOG_QUERIES: 'false',
      NODE_OPTIONS: `--import ${pathToFileURL(noise)}`,
    };
    const bare = new Bare(dbPath, env);
    await bare.initialize();
    bare.send({ id: 3, method: 'logging/setLevel', params: { level: 'debug' } });
    await bare.answerTo(3);
    bare.send(bare.call(1, 'store', { content: 'kept all the same' }));
    await bare.answerTo(1);
    bare.send(bare.call(2, 'recall', { query: 'kept' }));
    expect((await bare.answerTo(2)).result).toMatchObject({ structuredContent: { total: 1 } });
    const notes = () => bare.messages().filter(({ method }) => method === 'notifications/message');
    await eventually('a word about the query', 20_000, () =>
      notes().find(({ params }) => JSON.stringify(params).includes('query_completed')),
    );
    // No query is told where the log holds none.
    expect(JSON.stringify(notes())).not.toContain('kept');
    const told = await eventually('a word about the embedder', 20_000, () =>
      bare.messages().find(({ method, params }) => method === 'notifications/message' && params?.level === 'error'),
    );
    expect(told.params).toMatchObject({ logger: 'embedding', data: { event: expect.any(String) } });
    bare.process.endInput();
    const { code, stderr } = await bare.process.exited;
    expect(code, stderr).toBe(0);
    bare.messages();
    for (const said of ['noise', '"query_completed"', '"agent_disconnected"']) expect(stderr).toContain(said);
    expect(stderr).not.toContain('kept');
  });
});

/** An agent process for the tests that leave it as it was. */
let bare: Bare;
let lastId = 100;
beforeAll(async () => {
  bare = new Bare(newFile());
  await bare.initialize();
});
afterAll(async () => void (await bare.process.end('SIGKILL')));

describe('the log that a client is told of', () => {
  const told = () => bare.messages().filter(({ method }) => method === 'notifications/message');
  const answered = (message: object) => {
    const id = ++lastId;
    bare.send({ ...message, id });
    return bare.answerTo(id);
  };
  const recall = (query: string) => answered(bare.call(0, 'recall', { query }));
  const setLevel = (level: string) => answered({ method: 'logging/setLevel', params: { level } });

  it('begins with warnings, and is what the client chooses', async () => {
    await recall('silent');
    await answered({ method: 'ping' });
    expect(told()).toEqual([]);
    await setLevel('info');
    await recall('told');
    await eventually('a record', 20_000, () => told()[0]);
    expect(told()).toMatchObject([
      { params: { level: 'info', logger: 'retrieval', data: { event: 'query_completed', query: 'told' } } },
    ]);
    await setLevel('warning');
  });
});

describe('several on one file', () => {
  it('see what the others write, be they agents or a server, and lose nothing when one of them dies', async () => {
    const dbPath = newFile();
    const agent = await stdioAgent(dbPath, WORDS_ONLY);
    const server = await startClient({ dbPath, env: WORDS_ONLY });
    const bare = new Bare(dbPath);
    await bare.initialize();
    const found = async (query: string) => (await agent.call<RecallResponse>('recall', { query })).results;

    const id = await agent.store({ content: 'the anchor is rusty' });
    expect(await found('anchor')).toMatchObject([{ id }]);
    expect(await server.recalled('anchor')).toEqual([id]);
    bare.send(bare.call(1, 'update', { memory_id: id, content: 'the anchor is new' }));
    await bare.answerTo(1);
    expect(await found('anchor')).toMatchObject([{ content: 'the anchor is new' }]);
    await server.forget(id);
    expect(await found('anchor')).toEqual([]);

    const notes = Array.from({ length: 30 }, (_, i) => ({ content: `note ${i}`, session_id: 'both' }));
    const writes = notes.flatMap((note) => [agent.store(note), server.store(note)]);
    const ids = await Promise.all(writes);
    const session = await agent.call<{ memories: Memory[]; total: number }>('session', { session_id: 'both' });
    expect(session.memories.map((memory) => memory.id).sort()).toEqual(ids.sort());

    bare.send(bare.call(2, 'store', { content: 'written before the end' }));
    await bare.answerTo(2);
    await bare.process.end('SIGKILL');
    await agent.store({ content: 'written after the end' });
    expect(await found('written end')).toHaveLength(2);
    await agent.end();
    await expectCleanEnd(server.server);
  });

  it('leave a file the model that it was embedded with, unless they are told another', async () => {
    const dbPath = newFile();
    const remote = await startEmbeddingServer();
    onTestFinished(() => remote.close());
    const memory = await openMemory(dbPath, { embedder: 'openai:hashed-words', embeddingUrl: remote.url });
    await memory.store({ content: 'the anchor is rusty' });
    await memory.close();
    const getModel = async (env: Record<string, string>) => {
      const agent = await stdioAgent(dbPath, env);
      await agent.store({ content: 'the anchor is new' });
      const { embedding } = await agent.call<StatsResponse>('stats', {});
      expect((await agent.call<RecallResponse>('recall', { query: 'anchor' })).total).toBeGreaterThan(0);
      await agent.end();
      return embedding?.model;
    };
    expect(await getModel({})).toMatch(/hashed-words/);
    remote.model = 'other-words';
    expect(await getModel({ SERVICE_EMBEDDER: 'openai:other-words', SERVICE_EMBEDDING_URL: remote.url })).toMatch(
      /other-words/,
    );
  });
});

/** A service that nobody reaches: what an agent process answers by itself needs none. */
const NOWHERE = 'http://127.0.0.1:1234';

describe('what is no message', () => {
  it.each([
    ['not JSON', 'forget it', -32700],
    ['a part of a message', '{"jsonrpc":"2.0","id":1,', -32700],
    ['JSON that is no message', '{"hello":"world"}', -32600],
    ['a message of another version', '{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600],
    ['a request whose id is an object', '{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600],
    ['several messages at once', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600],
    ['nothing', '', -32700],
  ])('%s is answered with an error, and the next message as ever', async (_what, line, code) => {
    const before = bare.messages().length;
    const id = ++lastId;
    bare.process.write(`${line}\n`);
    bare.send({ id, method: 'ping' });
    expect((await bare.answerTo(id)).result).toEqual({});
    const [refusal, ...others] = bare.messages().slice(before);
    expect(refusal).toMatchObject({ error: { code, message: expect.stringMatching(/\S/) } });
    expect(others).toHaveLength(1);
  });

  it.each([
    ['an unknown method', { method: 'tools/dance' }, -32601, /not found/],
    ['a call without a name', { method: 'tools/call', params: {} }, -32602, /^name must be a string$/],
    [
      'arguments that are a list',
      { method: 'tools/call', params: { name: 'stats', arguments: [] } },
      -32602,
      /^arguments must be a JSON object$/,
    ],
    [
      'a level that there is none of',
      { method: 'logging/setLevel', params: { level: 'loud' } },
      -32602,
      /^level must be one of debug, info, /,
    ],
  ])('%s is an error of its own', async (_what, message, code, says) => {
    const id = ++lastId;
    bare.send({ id, ...message });
    expect((await bare.answerTo(id)).error).toMatchObject({ code, message: expect.stringMatching(says) });
  });

  it("metadata as deep as a message can hold is the model's mistake", async () => {
    const deep = '['.repeat(300_000) + ']'.repeat(300_000);
    const id = ++lastId;
    const args = `{"content":"deep","metadata":{"a":${deep}}}`;
    const params = `{"name":"store","arguments":${args}}`;
    bare.process.write(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}\n`);
    expect((await bare.answerTo(id)).result).toMatchObject({ _meta: { error: { code: 'INVALID_REQUEST' } } });
  });

  it('larger than any message may be ends the process, which says why', async () => {
    const bare = new Bare(NOWHERE, { SERVICE_MAX_BODY_BYTES: '4096', SERVICE_MAX_BATCH_BODY_BYTES: '200000' });
    await bare.initialize();
    bare.send(bare.call(1, 'store', { content: 'x'.repeat(100_000) }));
    expect((await bare.answerTo(1)).result).toMatchObject({
      isError: true,
      _meta: { error: { code: 'PAYLOAD_TOO_LARGE' } },
    });
    bare.send(bare.call(2, 'store', { content: 'x'.repeat(300_000) }));
    const log = await bare.ended(1);
    expect(log.at(-1)).toMatchObject({ level: 'ERROR', event: 'agent_disconnected', reason: 'message too large' });
  });
});

describe('the end', () => {
  it('comes with standard input, once all that was asked is answered', async () => {
    const server = await startClient({ env: WORDS_ONLY });
    const bare = new Bare(`http://127.0.0.1:${server.server.port}`);
    await bare.initialize();
    bare.send(
      ...Array.from({ length: 20 }, (_, i) => bare.call(i + 1, 'store', { content: `note ${i}` })),
      bare.call(21, 'consolidate', {}),
    );
    await bare.end();
    const answered = bare.messages().filter(({ result }) => result?.structuredContent);
    expect(answered.map(({ id }) => Number(id)).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 21 }, (_, i) => i + 1),
    );
    await expectCleanEnd(server.server);
  });

  it('comes within ten seconds where what was asked is not answered, and says that it was cut', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    onTestFinished(() => {
      silent.closeAllConnections();
      silent.close();
    });
    await once(silent, 'listening');
    const bare = new Bare(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`);
    await bare.initialize();
    bare.send(bare.call(1, 'recall', { query: 'kept' }));
    const log = await bare.end();
    expect(log.map(({ event }) => event).slice(-2)).toEqual(['agent_disconnected', 'requests_cut']);
  });

  it('comes with SIGINT, in order', async () => {
    expect((await bare.process.end('SIGINT')).code).toBe(0);
  });

  it('comes when the client dies in the middle of a word, and what it was answered stays', async () => {
    const dbPath = newFile();
    const bare = new Bare(dbPath);
    await bare.initialize();
    bare.send(bare.call(1, 'store', { content: 'kept' }));
    await bare.answerTo(1);
    bare.send(bare.call(2, 'consolidate', {}), bare.call(3, 'recall', { query: 'kept' }));
    bare.process.write('{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"sto');
    bare.process.hangUp();
    expect((await bare.process.exited).code).toBe(0);
    const memory = await openMemory(dbPath, { embedder: 'none' });
    expect((await memory.recall({ query: 'kept' })).total).toBe(1);
    await memory.close();
  });
});

it('answers nothing to what was cancelled, and everything else, and ends in order with SIGTERM', async () => {
  const dbPath = newFile();
  const bare = new Bare(dbPath);
  await bare.initialize();
  bare.send(bare.call(1, 'store', { content: 'soon promoted' }));
  await bare.answerTo(1);
  bare.send(bare.call(2, 'consolidate', {}, { _meta: { progressToken: 'p' } }), {
    method: 'notifications/cancelled',
    params: { requestId: 2, reason: 'changed my mind' },
  });
  // A consolidation under way is waited for by the next, which is answered later.
  bare.send(bare.call(3, 'consolidate', {}));
  expect((await bare.answerTo(3)).result).toMatchObject({ structuredContent: { status: 'consolidated' } });
  expect((await bare.process.end('SIGTERM')).code).toBe(0);
  expect(bare.messages().map(({ id }) => id)).not.toContain(2);
  expect(existsSync(`${dbPath}-wal`)).toBe(false);
});

describe('the command line', () => {
  it('knows the settings of the engine, and none of a listener', async () => {
    const { code, stdout } = await runHere(['mcp', '--help']);
    expect(code).toBe(0);
    expect(stdout).toContain('--db-path');
    for (const flag of ['--port', '--host', '--cors-origins']) expect(stdout).not.toContain(flag);
    const refused = await runHere(['mcp', '--port', '1']);
    expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('--port') });
  });

  it('says in one line on standard error why a file cannot be opened', async () => {
    const { code, stdout, stderr } = await runServer(['mcp', '--db-path', temporaryFolder()], WORDS_ONLY);
    expect({ code, stdout }).toEqual({ code: 6, stdout: '' });
    expect(stderr).toMatch(/^cannot open .+\n$/);
  });
});
