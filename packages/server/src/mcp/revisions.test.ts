import { PassThrough } from 'node:stream';
import { createTimeZone, type MemoryApi, MemoryError } from '@memoryd/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { handlePost } from './http.ts';
import type { McpOptions } from './server.ts';
import { serveStdio } from './stdio.ts';

interface Message {
  id?: string | number;
  method?: string;
  params?: Record<string, unknown>;
}

interface Answer {
  id?: string | number | null;
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: Record<string, unknown> };
}

/** A connection that sends a message, or a batch, and returns the answers. */
type Send = (message: Message | Message[], version?: string) => Promise<Answer[]>;

const memory: MemoryApi['memory'] = () => Promise.reject(new MemoryError('NOT_FOUND', 'memory not found'));
const caller = { api: { memory } as MemoryApi, scope: 'operate' as const };
const options: McpOptions = { version: '1', maxArgumentBytes: 1024, zone: createTimeZone('UTC'), onDefect: () => {} };

async function openStdio(): Promise<Send> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const client = await serveStdio(caller, { ...options, maxMessageBytes: 100_000, input, output });
  onTestFinished(() => client.close());
  const lines = output.setEncoding('utf8').iterator();
  return async (message) => {
    const messages = Array.isArray(message) ? message : [message];
    const named = messages.map((each) => ({ jsonrpc: '2.0', ...each }));
    input.write(`${JSON.stringify(Array.isArray(message) ? named : named[0])}\n`);
    const { value } = await lines.next();
    return [JSON.parse(value)].flat();
  };
}

async function openHttp(): Promise<Send> {
  return async (message, version) => {
    const messages = Array.isArray(message) ? message : [message];
    const named = messages.map((each) => ({ jsonrpc: '2.0', ...each }));
    const headers = new Headers({
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...(version !== undefined && { 'mcp-protocol-version': version }),
      ...(!Array.isArray(message) && { 'mcp-method': message.method ?? '' }),
    });
    const name = messages[0]?.params?.name ?? messages[0]?.params?.uri;
    if (typeof name === 'string') headers.set('mcp-name', name);
    const response = await handlePost(caller, options, {
      request: new Request('http://memoryd/mcp', { method: 'POST', headers }),
      body: Array.isArray(message) ? named : named[0],
      disconnected: new AbortController().signal,
      idleMs: 60_000,
      onMessage: () => {},
    });
    const text = await response.text();
    if (!response.ok) return [JSON.parse(text)];
    return [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data ?? ''));
  };
}

const LATEST = '2026-07-28';

/** Returns a request that names its protocol revision, as revision 2026-07-28 requires. */
function withVersion(message: Message, version = LATEST): Message {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return { ...message, params: { ...message.params, _meta } };
}

function initialize(protocolVersion: string): Message {
  const clientInfo = { name: 'test', version: '1' };
  return { id: 'hello', method: 'initialize', params: { protocolVersion, capabilities: {}, clientInfo } };
}

describe.each([
  { transport: 'stdio', open: openStdio },
  { transport: 'HTTP', open: openHttp },
])('protocol revision 2026-07-28 over $transport', ({ open }) => {
  const ask = async (send: Send, message: Message, version = LATEST) => {
    const [answer, ...others] = await send(withVersion(message, version), version);
    expect(others).toEqual([]);
    return answer;
  };

  it('protocol revision 2026-07-28 needs no initialize, and server/discover describes the server', async () => {
    const answer = await ask(await open(), { id: 1, method: 'server/discover' });
    expect(answer).toMatchObject({
      id: 1,
      result: {
        resultType: 'complete',
        supportedVersions: [LATEST],
        capabilities: { tools: {}, resources: {}, prompts: {} },
        instructions: expect.stringContaining('memoryd remembers'),
        ttlMs: expect.any(Number),
        cacheScope: 'private',
        _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'memoryd' } },
      },
    });
    expect(answer?.result?.capabilities).not.toHaveProperty('logging');
  });

  it.each(['tools/list', 'prompts/list', 'resources/templates/list'])(
    'protocol revision 2026-07-28 says how long the result of %s can be kept',
    async (method) => {
      const { result } = (await ask(await open(), { id: 'list', method })) ?? {};
      expect(result).toMatchObject({ resultType: 'complete', cacheScope: 'private' });
      expect(result?.ttlMs).toBeGreaterThan(0);
    },
  );

  it('protocol revision 2026-07-28 returns -32602 for an unknown resource', async () => {
    const answer = await ask(await open(), { id: 7, method: 'resources/read', params: { uri: 'memory://none' } });
    expect(answer).toMatchObject({ id: 7, error: { code: -32602, message: 'memory not found' } });
  });

  it('protocol revision 2026-07-28 returns -32601 for an unknown method', async () => {
    const answer = await ask(await open(), { id: 'odd', method: 'tools/dance' });
    expect(answer).toMatchObject({ id: 'odd', error: { code: -32601 } });
  });

  it('protocol revision 2026-07-28 returns -32022 for another revision, also after other requests', async () => {
    const send = await open();
    const expected = { error: { code: -32022, data: { supported: [LATEST], requested: '2027-01-01' } } };
    expect(await ask(send, { id: 1, method: 'tools/list' }, '2027-01-01')).toMatchObject({ id: 1, ...expected });
    expect(await ask(send, { id: 2, method: 'tools/list' })).toMatchObject({ id: 2, result: {} });
    expect(await ask(send, { id: 3, method: 'tools/list' }, '2027-01-01')).toMatchObject({ id: 3, ...expected });
  });

  it('protocol revision 2026-07-28 accepts no batch', async () => {
    const send = await open();
    await ask(send, { id: 1, method: 'tools/list' });
    const [answer] = await send([withVersion({ id: 2, method: 'tools/list' })], LATEST);
    expect(answer?.error).toMatchObject({ code: -32600, message: expect.stringContaining('2025-03-26') });
  });
});

describe.each([
  { transport: 'stdio', open: openStdio },
  { transport: 'HTTP', open: openHttp },
])('a protocol revision with initialize over $transport', ({ open }) => {
  it.each([
    ['2025-11-25', '2025-11-25'],
    ['2025-06-18', '2025-06-18'],
    ['2025-03-26', '2025-03-26'],
    ['2024-11-05', '2024-11-05'],
    ['1999-01-01', '2025-11-25'],
  ])('a protocol revision with initialize is negotiated: %s becomes %s', async (asked, expected) => {
    const [answer] = await (await open())(initialize(asked));
    expect(answer).toMatchObject({
      id: 'hello',
      result: { protocolVersion: expected, serverInfo: { name: 'memoryd' } },
    });
    expect(answer?.result).not.toHaveProperty('resultType');
  });

  it.each(['tools/dance', 'server/discover'])(
    'a protocol revision with initialize returns -32601 for %s, also before initialize',
    async (method) => {
      const [answer] = await (await open())({ id: 1, method });
      expect(answer).toMatchObject({ id: 1, error: { code: -32601 } });
    },
  );

  it('a protocol revision with initialize accepts batches if it is 2025-03-26', async () => {
    const send = await open();
    await send(initialize('2025-03-26'));
    const batch = [
      { id: 1, method: 'ping' },
      { method: 'notifications/initialized' },
      { id: 2, method: 'tools/dance' },
    ];
    const answers = await send(batch, '2025-03-26');
    expect(answers.sort((a, b) => Number(a.id) - Number(b.id))).toMatchObject([
      { id: 1, result: {} },
      { id: 2, error: { code: -32601 } },
    ]);
  });

  it.each([
    ['of no messages', [], 'a batch must have 1 to 100 messages'],
    ['of 101 messages', Array.from({ length: 101 }, (_, id) => ({ id, method: 'ping' })), 'a batch must have 1 to 100'],
    ['with something else than a message', [{ id: 1 }], 'each item of a batch must be a JSON-RPC 2.0 message'],
    ['with initialize', [initialize('2025-03-26')], 'initialize must not be in a batch'],
  ])('a protocol revision with initialize refuses a batch %s', async (_row, batch, message) => {
    const send = await open();
    await send(initialize('2025-03-26'));
    const [answer] = await send(batch, '2025-03-26');
    expect(answer?.error).toMatchObject({ code: -32600, message: expect.stringContaining(message) });
  });

  it('a protocol revision with initialize refuses batches if it is 2025-11-25', async () => {
    const send = await open();
    await send(initialize('2025-11-25'));
    const [answer] = await send([{ id: 1, method: 'ping' }], '2025-11-25');
    expect(answer?.error).toMatchObject({ code: -32600, message: expect.stringContaining('2025-03-26') });
  });
});

it('memoryd mcp reads a batch that follows initialize at once with the negotiated version', async () => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const client = await serveStdio(caller, { ...options, maxMessageBytes: 100_000, input, output });
  const messages = [{ jsonrpc: '2.0', ...initialize('2025-03-26') }, [{ jsonrpc: '2.0', id: 1, method: 'ping' }]];
  input.end(messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
  await client.ended;
  await client.answered();
  await client.close();
  const lines = String(output.read()).trim().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ id: 'hello' }, [{ id: 1, result: {} }]]);
});

describe('over HTTP, protocol revision 2026-07-28', () => {
  const post = async (headers: Record<string, string>, message: Message) => {
    const response = await handlePost(caller, options, {
      request: new Request('http://memoryd/mcp', {
        method: 'POST',
        headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...headers },
      }),
      body: { jsonrpc: '2.0', ...withVersion(message) },
      disconnected: new AbortController().signal,
      idleMs: 60_000,
      onMessage: () => {},
    });
    return { status: response.status, body: (await response.json()) as Answer };
  };
  const read = { id: 9, method: 'resources/read', params: { uri: 'memory://none' } };

  it.each([
    ['without the header Mcp-Method', { 'mcp-protocol-version': LATEST, 'mcp-name': 'memory://none' }],
    ['without the header Mcp-Name', { 'mcp-protocol-version': LATEST, 'mcp-method': 'resources/read' }],
    [
      'with the name of another resource',
      { 'mcp-protocol-version': LATEST, 'mcp-method': 'resources/read', 'mcp-name': 'memory://other' },
    ],
    [
      'with another version in the header',
      { 'mcp-protocol-version': '2025-11-25', 'mcp-method': 'resources/read', 'mcp-name': 'memory://none' },
    ],
  ])('over HTTP, protocol revision 2026-07-28 returns -32020 for a request %s', async (_row, headers) => {
    const { status, body } = await post(headers, read);
    expect(status).toBe(400);
    expect(body).toMatchObject({ id: 9, error: { code: -32020 } });
  });
});
