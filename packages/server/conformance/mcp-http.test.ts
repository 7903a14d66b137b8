import type { RecallResponse } from '@memoryd/contract';
import { MODEL_TOOLS, TOOLS } from '@memoryd/contract/tools';
import { afterAll, describe, expect, it } from 'vitest';
import { httpAgent } from './agent.ts';
import type { Answer } from './http.ts';
import { expectError } from './refusal.ts';
import { type Client, expectCleanEnd, startClient, useServer, WORDS_ONLY } from './under-test.ts';

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const LATEST_WITH_INITIALIZE = { 'mcp-protocol-version': '2025-11-25' };
const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };

const memoryd = useServer({ env: { ...WORDS_ONLY, SERVICE_MAX_BATCH_BODY_BYTES: '2000000' } });

function post(client: Client, json: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  return client.send({ method: 'POST', path: '/mcp', json, headers: { ...HEADERS, ...headers } });
}

/** Returns the messages of an event stream response. */
function getMessages({ status, headers, text }: Answer): { id?: number; result?: unknown; error?: unknown }[] {
  expect(status, text).toBe(200);
  expect(headers['content-type']).toMatch(/^text\/event-stream\b/);
  return [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data ?? ''));
}

describe('POST /mcp', () => {
  it('returns the response as an event stream that ends after the response, without a session', async () => {
    const answer = await post(memoryd, PING);
    expect(getMessages(answer)).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }]);
    expect(answer.headers['mcp-session-id']).toBeUndefined();
    expect(answer.headers['x-request-id']).toMatch(/\S/);
  });

  it('returns 202 without a body for a notification', async () => {
    const answer = await post(memoryd, { jsonrpc: '2.0', method: 'notifications/initialized' });
    expect([answer.status, answer.text]).toEqual([202, '']);
  });

  it('responds to every request of a batch in protocol version 2025-03-26', async () => {
    const store = { name: 'memory_store', arguments: { content: 'stored in a batch', session_id: 'batch' } };
    const batch = [
      PING,
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 2, method: 'tools/call', params: store },
    ];
    const messages = getMessages(await post(memoryd, batch, { 'mcp-protocol-version': '2025-03-26' }));
    expect(messages.map(({ id }) => id).sort()).toEqual([1, 2]);
    expect((await memoryd.session('batch')).total).toBe(1);
  });

  it('responds to every request of a batch that also contains a cancellation', async () => {
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
    const recall = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'memory_recall', arguments: { query: 'x' } },
    };
    const messages = getMessages(await post(memoryd, [recall, cancelled], { 'mcp-protocol-version': '2025-03-26' }));
    expect(messages.map(({ id }) => id)).toEqual([1]);
    expect((await post(memoryd, [cancelled])).status).toBe(202);
  });

  const rejections: { row: string; json?: unknown; body?: string; headers?: Record<string, string>; status: number }[] =
    [
      { row: 'a body that is not a JSON-RPC message', json: { hello: 'world' }, status: 400 },
      { row: 'a message of another JSON-RPC version', json: { ...PING, jsonrpc: '1.0' }, status: 400 },
      { row: 'a batch in protocol version 2025-11-25', json: [PING], headers: LATEST_WITH_INITIALIZE, status: 400 },
      { row: 'an empty batch', json: [], status: 400 },
      { row: 'a batch with an invalid message', json: [PING, { ...PING, id: {} }], status: 400 },
      { row: 'a batch with initialize', json: [{ ...PING, method: 'initialize' }], status: 400 },
      { row: 'an empty body', body: '', status: 400 },
      { row: 'a batch of more than 100 messages', json: Array.from({ length: 101 }, () => PING), status: 400 },
      {
        row: 'an unknown protocol version',
        json: PING,
        headers: { 'mcp-protocol-version': '1999-01-01' },
        status: 400,
      },
      {
        row: 'an Accept header without text/event-stream',
        json: PING,
        headers: { accept: 'application/json' },
        status: 406,
      },
      { row: 'a body of type text/plain', json: PING, headers: { 'content-type': 'text/plain' }, status: 415 },
    ];
  it.each(rejections)(
    'rejects $row with $status and a JSON-RPC error that has the id of the request',
    async ({ json, body, headers, status }) => {
      const request = { method: 'POST', path: '/mcp', headers: { ...HEADERS, ...headers } };
      const answer = await memoryd.send({ ...request, ...(body === undefined ? { json } : { body }) });
      expect(answer.status, answer.text).toBe(status);
      const id = (json as { id?: number } | undefined)?.id ?? null;
      expect(answer.body).toMatchObject({ jsonrpc: '2.0', id, error: { message: expect.stringMatching(/\S/) } });
    },
  );

  it('rejects malformed JSON and a body that is too large, as every route does', async () => {
    const malformed = { method: 'POST', path: '/mcp', headers: HEADERS, body: '{"jsonrpc"' };
    expectError(await memoryd.send(malformed));
    const large = { ...PING, params: { x: 'x'.repeat(2_000_000) } };
    const refused = await post(memoryd, large);
    expectError(refused, { code: 'PAYLOAD_TOO_LARGE' });
    expect(refused.text).toMatch(/at most 2000000 bytes; raise the limit with SERVICE_MAX_BATCH_BODY_BYTES/);
  });

  it.each([
    ['a list', []],
    ['a text', '{}'],
  ])('rejects %s as tool arguments', async (_row, args) => {
    const params = { name: 'memory_stats', arguments: args };
    const [message] = getMessages(await post(memoryd, { jsonrpc: '2.0', id: 7, method: 'tools/call', params }));
    expect(message).toMatchObject({ id: 7, error: { code: -32602, message: 'arguments must be a JSON object' } });
  });

  it('returns the right results to each of 8 concurrent agents', async () => {
    const agents = await Promise.all(Array.from({ length: 8 }, () => httpAgent(memoryd.server.port)));
    await Promise.all(
      agents.map(async (agent, index) => {
        const content = `agent number${index} was here`;
        const id = await agent.store({ content, session_id: `agent ${index}` });
        const answer = await agent.call<RecallResponse>('memory_recall', { query: `number${index}` });
        expect(answer.results[0]).toMatchObject({ id, content });
      }),
    );
    await Promise.all(agents.map((agent) => agent.end()));
  });

  it('continues to work after an agent disconnects during a consolidation', async () => {
    await memoryd.storeAll(Array.from({ length: 200 }, (_, i) => ({ content: `memory ${i}` })));
    const agent = await httpAgent(memoryd.server.port);
    const consolidating = agent.client.callTool({ name: 'memory_consolidate', arguments: {} }).catch(() => undefined);
    await agent.client.close();
    await consolidating;
    expect(getMessages(await post(memoryd, PING))).toHaveLength(1);
    expect((await memoryd.consolidate()).status).toBe('consolidated');
  });

  it('continues to work after an agent cancels a call', async () => {
    const agent = await httpAgent(memoryd.server.port);
    const cancel = new AbortController();
    const call = agent.client.callTool({ name: 'memory_consolidate', arguments: {} }, { signal: cancel.signal });
    cancel.abort('changed my mind');
    await expect(call).rejects.toThrow(/changed my mind/);
    expect(await agent.call('memory_stats')).toMatchObject({ working_count: expect.any(Number) });
    await agent.end();
  });
});

describe('/mcp?timezone=', () => {
  const evening = { content: 'the anchor is rusty', created_at: '2026-11-28T04:30:00Z' };
  const getTimes = async (port: number, query = '') => {
    const agent = await httpAgent(port, {}, query);
    const { results } = await agent.call<RecallResponse>('memory_recall', { query: 'anchor' });
    await agent.end();
    return results.map(({ created_at }) => created_at);
  };

  it('sets the time zone in which an agent reads times, in place of SERVICE_TIMEZONE', async () => {
    const client = await startClient({ env: { ...WORDS_ONLY, SERVICE_TIMEZONE: 'Asia/Kolkata' } });
    await client.store(evening);
    const { port } = client.server;
    expect(await getTimes(port)).toEqual(['2026-11-28T10:00:00.000+05:30']);
    expect(await getTimes(port, '?timezone=America/Los_Angeles')).toEqual(['2026-11-27T20:30:00.000-08:00']);
    const { results } = await client.get<RecallResponse>('/recall?query=anchor');
    expect(results).toMatchObject([{ created_at: '2026-11-28T04:30:00.000Z' }]);
    await expectCleanEnd(client.server);
    await memoryd.store(evening);
    expect(await getTimes(memoryd.server.port)).toContain('2026-11-28T04:30:00.000Z');
  });

  it.each(['Mars/Olympus', '%20', 'UTC&timezone=UTC'])('rejects %s', async (timezone) => {
    const request = { method: 'POST', path: `/mcp?timezone=${timezone}`, json: PING, headers: HEADERS };
    const answer = await memoryd.send(request);
    expectError(answer, { field: 'timezone' });
    expect(answer.text).toMatch(
      /"timezone must be (an IANA time zone name, such as Europe\/Berlin or UTC|given once)"/,
    );
  });
});

describe('/mcp?tools=', () => {
  const listTools = async (query: string) => {
    const [message] = getMessages(
      await memoryd.send({
        method: 'POST',
        path: `/mcp${query}`,
        json: { ...PING, method: 'tools/list' },
        headers: HEADERS,
      }),
    );
    const { tools = [] } = (message?.result ?? {}) as { tools?: { name: string; outputSchema?: object }[] };
    return tools;
  };

  it('offers the tools for models by default, and others on request', async () => {
    const getNames = async (query: string) => (await listTools(query)).map(({ name }) => name);
    expect(await getNames('')).toEqual(Object.values(MODEL_TOOLS).map(({ name }) => name));
    expect(await getNames('?tools=all')).toEqual(Object.values(TOOLS).map(({ name }) => name));
    expect(await getNames('?tools=memory_stats,memory_recall')).toEqual(['memory_recall', 'memory_stats']);
  });

  it('lists schemas of results with ?structured=true only', async () => {
    for (const tool of await listTools('')) expect(tool).not.toHaveProperty('outputSchema');
    for (const tool of await listTools('?structured=true')) expect(tool).toHaveProperty('outputSchema.type', 'object');
  });

  it.each(['dance', 'memory_recall,dance', '%20'])('rejects "%s"', async (tools) => {
    const answer = await memoryd.send({ method: 'POST', path: `/mcp?tools=${tools}`, json: PING, headers: HEADERS });
    expectError(answer, { field: 'tools' });
    expect(answer.text).toContain('tools must be all, or one or more of memory_store, ');
  });
});

describe('/mcp', () => {
  it.each(['GET', 'DELETE'])(
    'returns 405 for %s, because the server has neither a stream nor sessions',
    async (method) => {
      const answer = await memoryd.send({ method, path: '/mcp', headers: { accept: 'text/event-stream' } });
      expect([answer.status, answer.headers.allow]).toEqual([405, 'POST']);
      expect(answer.body).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32000 } });
    },
  );

  it('/mcp is not in the OpenAPI document', async () => {
    expect(Object.keys((await memoryd.get<{ paths: object }>('/openapi.json')).paths)).not.toContain('/mcp');
  });

  it('rejects forwarded requests without a key, and requests with a foreign host name', async () => {
    expectError(await post(memoryd, PING, { 'x-forwarded-for': '203.0.113.7' }), { code: 'UNAUTHORIZED' });
    expectError(await post(memoryd, PING, { host: 'evil.example' }), { code: 'FORBIDDEN' });
  });
});

describe('/mcp with an Origin header', () => {
  const modes: { mode: string; env: Record<string, string> }[] = [
    { mode: 'in development', env: {} },
    { mode: 'in production', env: { NODE_ENV: 'production' } },
    { mode: 'with every origin allowed', env: { SERVICE_CORS_ORIGINS: '*' } },
    { mode: 'with another origin allowed', env: { SERVICE_CORS_ORIGINS: 'https://app.example' } },
  ];
  describe.each(modes)('$mode', ({ env }) => {
    let client: Client | undefined;
    const getClient = async () => (client ??= await startClient({ env: { ...WORDS_ONLY, ...env } }));
    afterAll(async () => {
      if (client) await expectCleanEnd(client.server);
    });

    const foreign = ['https://evil.example', 'http://localhost.evil.example', 'null', 'http://127.0.0.1:1', ''];
    it.each(foreign)('rejects POST, GET and DELETE from the origin "%s"', async (origin) => {
      const headers = { origin };
      const call = { name: 'memory_store', arguments: { content: 'planted by a page' } };
      const store = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call };
      expectError(await post(await getClient(), store, headers), { code: 'FORBIDDEN' });
      for (const method of ['GET', 'DELETE']) {
        expectError(await (await getClient()).send({ method, path: '/mcp', headers }), { code: 'FORBIDDEN' });
      }
      expect((await (await getClient()).memories()).total).toBe(0);
    });

    it('accepts the origin of the service itself', async () => {
      const { server } = await getClient();
      const ownOrigin = `http://127.0.0.1:${server.port}`;
      expect(getMessages(await post(await getClient(), PING, { origin: ownOrigin }))).toHaveLength(1);
    });
  });

  it('accepts an origin listed in SERVICE_CORS_ORIGINS', async () => {
    const client = await startClient({ env: { ...WORDS_ONLY, SERVICE_CORS_ORIGINS: 'https://app.example' } });
    const answer = await post(client, PING, { origin: 'https://app.example' });
    expect(getMessages(answer)).toHaveLength(1);
    expect(answer.headers['access-control-allow-origin']).toBe('https://app.example');
    await expectCleanEnd(client.server);
  });
});
