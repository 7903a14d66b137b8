import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Memory, RecallResponse, StatsResponse } from '@memoryd/contract';
import { MODEL_TOOLS } from '@memoryd/contract/tools';
import { openMemory } from '@memoryd/engine';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startEmbeddingServer } from '../../engine/src/embedding/embedding-server.fixture.ts';
import { commandAgent, connectAgent, getText, stdioAgent } from './agent.ts';
import { runInProcess } from './command-in-process.ts';
import { createTemporaryFolder } from './folders.ts';
import { eventually, freePort, getCommand, type Launched, launch, runServer } from './process.ts';
import type { LogRecord } from './server.ts';
import { expectCleanEnd, startClient, WORDS_ONLY } from './under-test.ts';

const newFile = () => join(createTemporaryFolder(), 'memory.db');

/** A JSON-RPC message on standard output. */
interface Message {
  jsonrpc: string;
  id?: string | number;
  method?: string;
  result?: Record<string, unknown>;
  error?: { code: number; message: string };
  params?: Record<string, unknown>;
}

/** A raw MCP client without a library, which writes and reads lines. */
class RawClient {
  readonly process: Launched;

  /** @param target URL of a service, or path of a database file */
  constructor(target: string, env: Record<string, string> = {}, ...args: string[]) {
    const flag = target.startsWith('http://') ? '--url' : '--db-path';
    this.process = launch(['mcp', '--tools', 'all', '--structured', flag, target, ...args], { ...WORDS_ONLY, ...env });
  }

  send(...messages: object[]): void {
    this.process.write(messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join(''));
  }

  /** Returns all messages on standard output so far. Throws if a line is not a message. */
  messages(): Message[] {
    return this.process.lines().map((line) => {
      const message = JSON.parse(line) as Message;
      expect(message.jsonrpc, line).toBe('2.0');
      return message;
    });
  }

  response(id: number): Promise<Message> {
    return eventually(`the response to ${id}`, 20_000, () => this.messages().find((message) => message.id === id));
  }

  async initialize(): Promise<void> {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
    this.send({ id: 0, method: 'initialize', params });
    await this.response(0);
    this.send({ method: 'notifications/initialized' });
  }

  call(id: number, name: string, args: object, more: object = {}): object {
    return { id, method: 'tools/call', params: { name, arguments: args, ...more } };
  }

  /** Closes standard input. Returns the log records once the process has exited with `code`. */
  async end(code = 0): Promise<LogRecord[]> {
    this.process.endInput();
    return this.expectExit(code);
  }

  async expectExit(code: number): Promise<LogRecord[]> {
    const exit = await this.process.exited;
    expect(exit.code, exit.stderr).toBe(code);
    this.messages();
    return exit.stderr
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as LogRecord);
  }
}

describe('memoryd mcp', () => {
  it('writes only protocol messages to standard output, even if the embedder fails and a library prints', async () => {
    const dbPath = newFile();
    const noise = join(createTemporaryFolder(), 'noise.mjs');
    // Prints in every thread once the database exists.
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
    const raw = new RawClient(dbPath, env);
    await raw.initialize();
    raw.send({ id: 3, method: 'logging/setLevel', params: { level: 'debug' } });
    await raw.response(3);
    raw.send(raw.call(1, 'memory_store', { content: 'kept all the same' }));
    await raw.response(1);
    raw.send(raw.call(2, 'memory_recall', { query: 'kept' }));
    expect((await raw.response(2)).result).toMatchObject({ structuredContent: { total: 1 } });
    const logMessages = () => raw.messages().filter(({ method }) => method === 'notifications/message');
    await eventually('a log message about the query', 20_000, () =>
      logMessages().find(({ params }) => JSON.stringify(params).includes('query_completed')),
    );
    // Log messages to the client omit the query if the log does.
    expect(JSON.stringify(logMessages())).not.toContain('kept');
    const embedderError = await eventually('a log message about the embedder', 20_000, () =>
      raw.messages().find(({ method, params }) => method === 'notifications/message' && params?.level === 'error'),
    );
    expect(embedderError.params).toMatchObject({ logger: 'embedding', data: { event: expect.any(String) } });
    raw.process.endInput();
    const { code, stderr } = await raw.process.exited;
    expect(code, stderr).toBe(0);
    raw.messages();
    for (const part of ['noise', '"query_completed"', '"agent_disconnected"']) expect(stderr).toContain(part);
    expect(stderr).not.toContain('kept');
  });
});

/** An agent process shared by the tests that do not change its state. */
let raw: RawClient;
let lastId = 100;
beforeAll(async () => {
  const dbPath = newFile();
  await (await openMemory(dbPath, { embedder: 'none' })).close();
  raw = new RawClient(dbPath);
  await raw.initialize();
});
afterAll(async () => void (await raw.process.end('SIGKILL')));

describe('log messages to an MCP client', () => {
  const logMessages = () => raw.messages().filter(({ method }) => method === 'notifications/message');
  const request = (message: object) => {
    const id = ++lastId;
    raw.send({ ...message, id });
    return raw.response(id);
  };
  const recall = (query: string) => request(raw.call(0, 'memory_recall', { query }));
  const setLevel = (level: string) => request({ method: 'logging/setLevel', params: { level } });

  it('log messages to an MCP client have at least the level warning by default, or the level that the client sets', async () => {
    await recall('silent');
    await request({ method: 'ping' });
    expect(logMessages()).toEqual([]);
    await setLevel('info');
    await recall('reported');
    await eventually('a record', 20_000, () => logMessages()[0]);
    expect(logMessages()).toMatchObject([
      { params: { level: 'info', logger: 'retrieval', data: { event: 'query_completed', query: 'reported' } } },
    ]);
    await setLevel('warning');
  });
});

describe('several MCP agents on one file', () => {
  it('several MCP agents on one file see the writes of other agents and servers, and lose no writes when one agent is killed', async () => {
    const dbPath = newFile();
    const agent = await stdioAgent(dbPath, WORDS_ONLY);
    const server = await startClient({ dbPath, env: WORDS_ONLY });
    const raw = new RawClient(dbPath);
    await raw.initialize();
    const found = async (query: string) => (await agent.call<RecallResponse>('memory_recall', { query })).results;

    const id = await agent.store({ content: 'the anchor is rusty' });
    expect(await found('anchor')).toMatchObject([{ id }]);
    expect(await server.recalled('anchor')).toEqual([id]);
    raw.send(raw.call(1, 'memory_update', { memory_id: id, content: 'the anchor is new' }));
    await raw.response(1);
    expect(await found('anchor')).toMatchObject([{ content: 'the anchor is new' }]);
    await server.forget(id);
    expect(await found('anchor')).toEqual([]);

    const notes = Array.from({ length: 30 }, (_, i) => ({ content: `note ${i}`, session_id: 'both' }));
    const writes = notes.flatMap((note) => [agent.store(note), server.store(note)]);
    const ids = await Promise.all(writes);
    const session = await agent.call<{ memories: Memory[]; total: number }>('memory_session', { session_id: 'both' });
    expect(session.memories.map((memory) => memory.id).sort()).toEqual(ids.sort());

    raw.send(raw.call(2, 'memory_store', { content: 'written before the end' }));
    await raw.response(2);
    await raw.process.end('SIGKILL');
    await agent.store({ content: 'written after the end' });
    expect(await found('written end')).toHaveLength(2);
    await agent.end();
    await expectCleanEnd(server.server);
  });

  it('several MCP agents on one file keep the embedding model of the file unless another model is configured', async () => {
    const dbPath = newFile();
    const remote = await startEmbeddingServer();
    onTestFinished(() => remote.close());
    const memory = await openMemory(dbPath, { embedder: 'openai:hashed-words', embeddingUrl: remote.url });
    await memory.store({ content: 'the anchor is rusty' });
    await memory.close();
    const getModel = async (env: Record<string, string>) => {
      const agent = await stdioAgent(dbPath, env);
      await agent.store({ content: 'the anchor is new' });
      const { embedding } = await agent.call<StatsResponse>('memory_stats', {});
      expect((await agent.call<RecallResponse>('memory_recall', { query: 'anchor' })).total).toBeGreaterThan(0);
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

/** URL of a service that does not run. The agent process rejects invalid messages without it. */
const UNREACHABLE_URL = 'http://127.0.0.1:1234';

describe('an invalid message to memoryd mcp', () => {
  it.each([
    ['that is not JSON', 'forget it', -32700],
    ['that is truncated JSON', '{"jsonrpc":"2.0","id":1,', -32700],
    ['that is JSON but not JSON-RPC', '{"hello":"world"}', -32600],
    ['of another JSON-RPC version', '{"jsonrpc":"1.0","id":"own","method":"ping"}', -32600],
    ['whose id is an object', '{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600],
    ['that is a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600],
    ['that is an empty line', '', -32700],
  ])('%s gets an error response, and the next message works', async (_row, line, code) => {
    const before = raw.messages().length;
    const id = ++lastId;
    raw.process.write(`${line}\n`);
    raw.send({ id, method: 'ping' });
    expect((await raw.response(id)).result).toEqual({});
    const [refusal, ...others] = raw.messages().slice(before);
    expect(refusal).toMatchObject({ error: { code, message: expect.stringMatching(/\S/) } });
    expect(refusal?.id).toBe(line.includes('"own"') ? 'own' : undefined);
    expect(others).toHaveLength(1);
  });

  it.each([
    ['with an unknown method', { method: 'tools/dance' }, -32601, /not found/],
    ['that calls a tool without a name', { method: 'tools/call', params: {} }, -32602, /^name must be a string$/],
    [
      'with a list as arguments',
      { method: 'tools/call', params: { name: 'memory_stats', arguments: [] } },
      -32602,
      /^arguments must be a JSON object$/,
    ],
    [
      'with an unknown log level',
      { method: 'logging/setLevel', params: { level: 'loud' } },
      -32602,
      /^level must be one of debug, info, /,
    ],
  ])('%s gets an error that names the problem', async (_row, message, code, reason) => {
    const id = ++lastId;
    raw.send({ id, ...message });
    expect((await raw.response(id)).error).toMatchObject({ code, message: expect.stringMatching(reason) });
  });

  it('an invalid message to memoryd mcp with extremely deep tags returns INVALID_REQUEST', async () => {
    const deep = '['.repeat(300_000) + ']'.repeat(300_000);
    const id = ++lastId;
    const args = `{"content":"deep","tags":${deep}}`;
    const params = `{"name":"memory_store","arguments":${args}}`;
    raw.process.write(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}\n`);
    expect((await raw.response(id)).result).toMatchObject({ _meta: { error: { code: 'INVALID_REQUEST' } } });
  });

  it('above the maximum message size makes memoryd exit with a logged reason', async () => {
    const raw = new RawClient(UNREACHABLE_URL, {
      SERVICE_MAX_BODY_BYTES: '4096',
      SERVICE_MAX_BATCH_BODY_BYTES: '200000',
    });
    await raw.initialize();
    raw.send(raw.call(1, 'memory_store', { content: 'x'.repeat(100_000) }));
    expect((await raw.response(1)).result).toMatchObject({
      isError: true,
      _meta: { error: { code: 'PAYLOAD_TOO_LARGE' } },
    });
    raw.send(raw.call(2, 'memory_store', { content: 'x'.repeat(300_000) }));
    const log = await raw.expectExit(1);
    expect(log.at(-1)).toMatchObject({ level: 'ERROR', event: 'agent_disconnected', reason: 'message too large' });
  });
});

describe('memoryd mcp shuts down', () => {
  it('memoryd mcp shuts down when standard input closes, after responding to all pending requests', async () => {
    const server = await startClient({ env: WORDS_ONLY });
    const raw = new RawClient(`http://127.0.0.1:${server.server.port}`);
    await raw.initialize();
    raw.send(
      ...Array.from({ length: 20 }, (_, i) => raw.call(i + 1, 'memory_store', { content: `note ${i}` })),
      raw.call(21, 'memory_consolidate', {}),
    );
    await raw.end();
    const responses = raw.messages().filter(({ result }) => result?.structuredContent);
    expect(responses.map(({ id }) => Number(id)).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 21 }, (_, i) => i + 1),
    );
    await expectCleanEnd(server.server);
  });

  it('memoryd mcp shuts down within ten seconds if a request does not complete, and logs the aborted requests', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    onTestFinished(() => {
      silent.closeAllConnections();
      silent.close();
    });
    await once(silent, 'listening');
    const raw = new RawClient(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`);
    await raw.initialize();
    raw.send(raw.call(1, 'memory_recall', { query: 'kept' }));
    const log = await raw.end();
    expect(log.map(({ event }) => event).slice(-2)).toEqual(['agent_disconnected', 'requests_cut']);
  });

  it('memoryd mcp shuts down gracefully on SIGINT', async () => {
    expect((await raw.process.end('SIGINT')).code).toBe(0);
  });

  it('memoryd mcp shuts down when the client dies in the middle of a message, and keeps acknowledged writes', async () => {
    const dbPath = newFile();
    const raw = new RawClient(dbPath);
    await raw.initialize();
    raw.send(raw.call(1, 'memory_store', { content: 'kept' }));
    await raw.response(1);
    raw.send(raw.call(2, 'memory_consolidate', {}), raw.call(3, 'memory_recall', { query: 'kept' }));
    raw.process.write('{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"sto');
    raw.process.hangUp();
    expect((await raw.process.exited).code).toBe(0);
    const memory = await openMemory(dbPath, { embedder: 'none' });
    expect((await memory.recall({ query: 'kept' })).total).toBe(1);
    await memory.close();
  });
});

it('memoryd mcp sends no response to a cancelled request, and shuts down gracefully on SIGTERM', async () => {
  const dbPath = newFile();
  const raw = new RawClient(dbPath);
  await raw.initialize();
  raw.send(raw.call(1, 'memory_store', { content: 'soon promoted' }));
  await raw.response(1);
  raw.send(raw.call(2, 'memory_consolidate', {}, { _meta: { progressToken: 'p' } }), {
    method: 'notifications/cancelled',
    params: { requestId: 2, reason: 'changed my mind' },
  });
  // The next consolidation waits for the running one, so its response comes later.
  raw.send(raw.call(3, 'memory_consolidate', {}));
  expect((await raw.response(3)).result).toMatchObject({ structuredContent: { status: 'consolidated' } });
  expect((await raw.process.end('SIGTERM')).code).toBe(0);
  expect(raw.messages().map(({ id }) => id)).not.toContain(2);
  expect(existsSync(`${dbPath}-wal`)).toBe(false);
});

describe('memoryd mcp shows times', () => {
  it.each([
    ['the process', { TZ: 'America/Los_Angeles' }, [], '2026-11-27T20:30:00.000-08:00'],
    ['the process, without a name', { TZ: 'XYZ3' }, [], '2026-11-28T01:30:00.000-03:00'],
    [
      'the setting',
      { TZ: 'America/Los_Angeles', SERVICE_TIMEZONE: 'Asia/Kolkata' },
      [],
      '2026-11-28T10:00:00.000+05:30',
    ],
    ['the flag', { SERVICE_TIMEZONE: 'Asia/Kolkata' }, ['--timezone', 'UTC'], '2026-11-28T04:30:00.000Z'],
  ])('memoryd mcp shows times in the time zone of %s', async (_whose, env, flags, shown) => {
    const agent = await commandAgent(['--db-path', newFile(), ...flags], { ...WORDS_ONLY, ...env });
    await agent.store({ content: 'the anchor is rusty', created_at: '2026-11-28T04:30:00Z' });
    const { results } = await agent.call<RecallResponse>('memory_recall', { query: 'anchor' });
    expect(results).toMatchObject([{ created_at: shown }]);
    await agent.end();
  });
});

describe('the command line of memoryd mcp', () => {
  it('lists the flags of the engine in its help, and rejects the flags of the HTTP server', async () => {
    const { code, stdout } = await runInProcess(['mcp', '--help']);
    expect(code).toBe(0);
    expect(stdout).toContain('--db-path');
    for (const flag of ['--port', '--host', '--cors-origins']) expect(stdout).not.toContain(flag);
    const rejected = await runInProcess(['mcp', '--port', '1']);
    expect(rejected).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('--port') });
  });

  it('rejects a time zone that does not exist', async () => {
    expect(await runInProcess(['mcp', '--timezone', 'Mars/Olympus'])).toMatchObject({
      ...{ code: 2, stdout: '' },
      stderr: expect.stringMatching(/--timezone must be an IANA time zone name, such as Europe\/Berlin or UTC/),
    });
  });

  it('offers the chosen tools, and rejects a choice that names an unknown tool', async () => {
    const agent = await commandAgent(['--db-path', newFile(), '--tools', 'memory_recall,memory_stats'], WORDS_ONLY);
    expect((await agent.client.listTools()).tools.map(({ name }) => name)).toEqual(['memory_recall', 'memory_stats']);
    expect(agent.client.getInstructions()).not.toContain('`memory_store`');
    await agent.end();
    const { code, stdout, stderr } = await runServer(['mcp', '--tools', 'memory_recall,dance'], WORDS_ONLY);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^--tools must be all, or one or more of memory_store, .*, separated by commas\n$/);
  });

  it('offers the tools for models and returns text without structured content by default', async () => {
    const agent = await connectAgent(getCommand(['mcp', '--db-path', newFile()], WORDS_ONLY), '2026-07-28');
    const { tools } = await agent.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(Object.values(MODEL_TOOLS).map(({ name }) => name));
    for (const tool of tools) expect(tool).not.toHaveProperty('outputSchema');
    const result = await agent.result('memory_recall', { query: 'anything' });
    expect(getText(result)).toMatch(/\S/);
    expect(result).not.toHaveProperty('structuredContent');
    await agent.end();
  });
});
