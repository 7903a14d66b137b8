import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Memory, RecallResponse, StatsResponse } from '@memoryd/contract';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startEmbeddingServer } from '../../engine/src/embedding/openai-compatible/embedding-server.fixture.ts';
import { stdioAgent } from './agent.ts';
import { eventually, freePort, type Launched, type LogRecord, launch, runServer, temporaryFolder } from './process.ts';
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
  it('has nothing but the protocol, with an embedder that fails and every record logged', async () => {
    const env = {
      SERVICE_EMBEDDER: 'openai:nothing',
      SERVICE_EMBEDDING_URL: `http://127.0.0.1:${await freePort()}/v1`,
      SERVICE_LOG_LEVEL: 'debug',
    };
    const bare = new Bare(newFile(), env);
    await bare.initialize();
    bare.send(bare.call(1, 'store', { content: 'kept all the same' }));
    await bare.answerTo(1);
    bare.send(bare.call(2, 'recall', { query: 'kept' }));
    expect((await bare.answerTo(2)).result).toMatchObject({ structuredContent: { total: 1 } });
    const told = await eventually('a word about the embedder', 20_000, () =>
      bare.messages().find(({ method, params }) => method === 'notifications/message' && params?.level === 'error'),
    );
    expect(told.params).toMatchObject({ logger: 'embedding', data: { event: expect.any(String) } });
    const log = await bare.end();
    expect(log.map(({ event }) => event)).toEqual(expect.arrayContaining(['query_completed', 'agent_disconnected']));
  });

  it('has nothing but the protocol, whatever a library prints', async () => {
    const dbPath = newFile();
    const noise = join(temporaryFolder(), 'noise.mjs');
    // From when the database is there, in every thread.
    writeFileSync(
      noise,
      `import { existsSync } from 'node:fs';
       setInterval(() => existsSync(${JSON.stringify(dbPath)}) && console.log('noise'), 5).unref();`,
    );
    const bare = new Bare(dbPath, { NODE_OPTIONS: `--import ${pathToFileURL(noise)}` });
    await bare.initialize();
    bare.send(bare.call(1, 'stats', {}));
    await bare.answerTo(1);
    bare.process.endInput();
    const { code, stderr } = await bare.process.exited;
    expect(code, stderr).toBe(0);
    expect(bare.messages().length).toBeGreaterThan(1);
    expect(stderr).toContain('noise');
  });
});

describe('the log that a client is told of', () => {
  it('begins with warnings, and is what the client chooses', async () => {
    const agent = await stdioAgent(newFile(), WORDS_ONLY);
    await agent.call('recall', { query: 'silent' });
    await agent.client.ping();
    expect(agent.log).toEqual([]);
    await agent.client.setLoggingLevel('info');
    await agent.call('recall', { query: 'told' });
    await eventually('a record', 20_000, () => agent.log[0]);
    expect(agent.log).toMatchObject([
      { level: 'info', logger: 'retrieval', data: { event: 'query_completed', query: 'told' } },
    ]);
    await agent.end();
  });

  it('carries no query where the log does not', async () => {
    const agent = await stdioAgent(newFile(), { ...WORDS_ONLY, SERVICE_LOG_QUERIES: 'false' });
    await agent.client.setLoggingLevel('debug');
    await agent.call('recall', { query: 'secret' });
    await eventually('a record', 20_000, () => agent.log[0]);
    expect(JSON.stringify(agent.log)).not.toContain('secret');
    await agent.end();
  });
});

describe('several agents on one file', () => {
  it('see what the others write, a server too', async () => {
    const dbPath = newFile();
    const [one, two] = await Promise.all([stdioAgent(dbPath, WORDS_ONLY), stdioAgent(dbPath, WORDS_ONLY)]);
    const server = await startClient({ dbPath, env: WORDS_ONLY });
    const found = async (query: string) => (await two.call<RecallResponse>('recall', { query })).results;

    const id = await one.store({ content: 'the anchor is rusty' });
    expect(await found('anchor')).toMatchObject([{ id }]);
    expect(await server.recalled('anchor')).toEqual([id]);

    await two.call('update', { memory_id: id, content: 'the anchor is new' });
    expect((await one.call<RecallResponse>('recall', { query: 'anchor' })).results).toMatchObject([
      { content: 'the anchor is new' },
    ]);
    await server.forget(id);
    expect(await found('anchor')).toEqual([]);

    const writes = [one, two].flatMap((agent, who) =>
      Array.from({ length: 30 }, (_, i) => agent.store({ content: `note ${i} of ${who}`, session_id: 'both' })),
    );
    const ids = await Promise.all(writes);
    const session = await one.call<{ memories: Memory[]; total: number }>('session', { session_id: 'both' });
    expect(session.memories.map((memory) => memory.id).sort()).toEqual(ids.sort());
    await Promise.all([one.end(), two.end()]);
    await expectCleanEnd(server.server);
  });

  it('leave a file the model that it was embedded with, unless they are told another', async () => {
    const dbPath = newFile();
    const remote = await startEmbeddingServer();
    onTestFinished(() => remote.close());
    const other = { SERVICE_EMBEDDER: 'openai:hashed-words', SERVICE_EMBEDDING_URL: remote.url };
    const modelOf = async (env: Record<string, string>) => {
      const agent = await stdioAgent(dbPath, env);
      await agent.store({ content: 'the anchor is rusty' });
      const { embedding } = await agent.call<StatsResponse>('stats', {});
      expect((await agent.call<RecallResponse>('recall', { query: 'anchor' })).total).toBeGreaterThan(0);
      await agent.end();
      return embedding?.model;
    };
    const first = await modelOf({});
    expect(first).toMatch(/^minilm/);
    const second = await modelOf(other);
    expect(second).toMatch(/hashed-words/);
    expect(await modelOf({})).toBe(second);
  });

  it('lose nothing when one of them dies', async () => {
    const dbPath = newFile();
    const bare = new Bare(dbPath);
    await bare.initialize();
    const survivor = await stdioAgent(dbPath, WORDS_ONLY);
    bare.send(bare.call(1, 'store', { content: 'written before the end' }));
    await bare.answerTo(1);
    await bare.process.end('SIGKILL');
    await survivor.store({ content: 'written after the end' });
    expect((await survivor.call<RecallResponse>('recall', { query: 'written end' })).total).toBe(2);
    await survivor.end();
  });
});

describe('what is no message', () => {
  const bare = new Bare(newFile());
  beforeAll(() => bare.initialize());
  afterAll(() => bare.end());
  let lastId = 100;

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
    const bare = new Bare(newFile(), { SERVICE_MAX_BODY_BYTES: '4096', SERVICE_MAX_BATCH_BODY_BYTES: '200000' });
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
    const bare = new Bare(newFile());
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

  it.each(['SIGTERM', 'SIGINT'] as const)('comes with %s, in order', async (signal) => {
    const dbPath = newFile();
    const bare = new Bare(dbPath);
    await bare.initialize();
    bare.send(bare.call(1, 'store', { content: 'kept' }));
    await bare.answerTo(1);
    expect((await bare.process.end(signal)).code).toBe(0);
    expect(existsSync(`${dbPath}-wal`)).toBe(false);
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
    const next = await stdioAgent(dbPath, WORDS_ONLY);
    expect((await next.call<RecallResponse>('recall', { query: 'kept' })).total).toBe(1);
    await next.end();
  });
});

it('answers nothing to what was cancelled, and everything else', async () => {
  const bare = new Bare(newFile());
  await bare.initialize();
  bare.send(bare.call(1, 'store', { content: 'soon settled' }));
  await bare.answerTo(1);
  bare.send(bare.call(2, 'consolidate', {}, { _meta: { progressToken: 'p' } }), {
    method: 'notifications/cancelled',
    params: { requestId: 2, reason: 'changed my mind' },
  });
  // A consolidation under way is waited for by the next, which is answered later.
  bare.send(bare.call(3, 'consolidate', {}));
  expect((await bare.answerTo(3)).result).toMatchObject({ structuredContent: { status: 'consolidated' } });
  await bare.end();
  expect(bare.messages().map(({ id }) => id)).not.toContain(2);
});

describe('the command line', () => {
  it('knows the settings of the engine, and none of a listener', async () => {
    const { code, stdout } = await runServer(['mcp', '--help']);
    expect(code).toBe(0);
    expect(stdout).toContain('--db-path');
    for (const flag of ['--port', '--host', '--cors-origins']) expect(stdout).not.toContain(flag);
    const refused = await runServer(['mcp', '--port', '1']);
    expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('--port') });
  });

  it('says in one line on standard error why a file cannot be opened', async () => {
    const { code, stdout, stderr } = await runServer(['mcp', '--db-path', temporaryFolder()], WORDS_ONLY);
    expect({ code, stdout }).toEqual({ code: 6, stdout: '' });
    expect(stderr).toMatch(/^cannot open .+\n$/);
  });
});
