import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createTimeZone,
  type MemoryApi,
  type RecallResponse,
  type Scope,
  type SessionResponse,
  type StatsResponse,
} from '@memoryd/contract';
import { type Engine, openEngine } from '@memoryd/engine';
import {
  Client,
  InMemoryTransport,
  type JSONRPCErrorResponse,
  type JSONRPCMessage,
} from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { engineSettings } from '../settings/engine-settings.ts';
import { readSettings } from '../settings/read.ts';
import type { McpCaller } from './caller.ts';
import { createMcpServer, type McpOptions } from './server.ts';
import { MCP_TOOLS } from './tools.ts';

const folder = mkdtempSync(join(tmpdir(), 'memoryd-mcp-'));
let engine: Engine;
let api: MemoryApi;

beforeAll(async () => {
  const settings = readSettings({ embedder: 'none', consolidationIntervalSeconds: '0' }, {});
  engine = await openEngine({
    ...engineSettings(settings),
    dbPath: join(folder, 'memory.db'),
    telemetry: { report: () => {} },
  });
  api = engine.namespace('default');
});
afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true });
});

const defects: { error: unknown; operation: string }[] = [];

const EVERYTHING: Partial<McpOptions> = { tools: MCP_TOOLS, structured: true };

/** Connects to a new server, and returns the client's end of the connection. */
async function connect(caller: McpCaller, timezone = 'UTC', options = EVERYTHING): Promise<InMemoryTransport> {
  const server = createMcpServer(caller, {
    version: '1.2.3',
    maxArgumentBytes: 1024,
    zone: createTimeZone(timezone),
    onDefect: (error, operation) => defects.push({ error, operation }),
    ...options,
  });
  const [here, there] = InMemoryTransport.createLinkedPair();
  await server.connect(there);
  return here;
}

async function createClient(caller: McpCaller, timezone?: string, options?: Partial<McpOptions>): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(await connect(caller, timezone, options));
  return client;
}

/** Sends a raw request, because the SDK's client refuses invalid ones. Returns the error of the response. */
async function getError(request: { method: string; params?: object }): Promise<JSONRPCErrorResponse['error']> {
  const here = await connect({ api, scope: 'operate' });
  const received = new Promise<JSONRPCMessage>((resolve) => {
    here.onmessage = resolve;
  });
  await here.start();
  await here.send({ jsonrpc: '2.0', id: 1, ...request } as JSONRPCMessage);
  const response = await received;
  await here.close();
  return (response as JSONRPCErrorResponse).error;
}

const MODEL = ['memory_store', 'memory_recall', 'memory_session', 'memory_update', 'memory_forget'];
const ALL = [...MODEL, 'memory_consolidate', 'memory_stats'];

describe('the tools of a caller', () => {
  const allowed: { scope: Scope; tools: string[] }[] = [
    { scope: 'read', tools: ['memory_recall', 'memory_session', 'memory_stats'] },
    { scope: 'write', tools: [...MODEL, 'memory_stats'] },
    { scope: 'operate', tools: ALL },
  ];
  it.each(allowed)(
    'the tools of a caller with the scope $scope are $tools, and calls of other tools are rejected',
    async ({ scope, tools }) => {
      const client = await createClient({ api, scope });
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(tools);
      for (const name of ALL) {
        const { isError, _meta } = await client.callTool({ name, arguments: { colour: 'none' } });
        const code = tools.includes(name) ? 'INVALID_REQUEST' : 'FORBIDDEN';
        expect({ isError, _meta }, name).toMatchObject({ isError: true, _meta: { error: { code } } });
      }
      await client.close();
    },
  );
});

describe('the result of a tool', () => {
  const call = { name: 'memory_recall', arguments: { query: 'anything' } };

  it('the result of a tool is text without structured content, and no tool lists an output schema', async () => {
    const client = await createClient({ api, scope: 'operate' }, 'UTC', {});
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(MODEL);
    for (const tool of tools) expect(tool).not.toHaveProperty('outputSchema');
    const result = await client.callTool(call);
    expect(result).toMatchObject({ content: [{ type: 'text' }] });
    expect(result).not.toHaveProperty('structuredContent');
    await client.close();
  });

  it('the result of a tool has structured content if the connection or the call asks for it', async () => {
    const structured = await createClient({ api, scope: 'operate' }, 'UTC', { structured: true });
    for (const tool of (await structured.listTools()).tools) expect(tool).toHaveProperty('outputSchema');
    expect(await structured.callTool(call)).toHaveProperty('structuredContent');
    const plain = await createClient({ api, scope: 'operate' }, 'UTC', {});
    expect(await plain.callTool({ ...call, _meta: { 'memoryd/structured': true } })).toHaveProperty(
      'structuredContent.total',
    );
    await Promise.all([structured, plain].map((each) => each.close()));
  });

  it('the result of a tool that was not chosen is an error', async () => {
    const client = await createClient({ api, scope: 'operate' }, 'UTC', { tools: MCP_TOOLS.slice(0, 1) });
    expect((await client.listTools()).tools).toHaveLength(1);
    const others = { name: MCP_TOOLS[1]?.listed.name ?? '', arguments: {} };
    await expect(client.callTool(others)).rejects.toThrow(/^unknown tool: .+; use a tool of tools\/list$/);
    await client.close();
  });
});

it('the list of the MCP tools for models is at most 9,000 characters long', () => {
  const tools = MCP_TOOLS.filter(({ isForModels }) => isForModels).map(({ listed }) => listed);
  expect(tools.map(({ name }) => name)).toEqual(MODEL);
  expect(JSON.stringify({ tools }).length).toBeLessThanOrEqual(9000);
});

it("MCP tools return only memories of the caller's namespace", async () => {
  const [one, two] = await Promise.all(
    ['one', 'two'].map((name) => createClient({ api: engine.namespace(name), scope: 'operate' })),
  );
  await one?.callTool({ name: 'memory_store', arguments: { content: 'mine alone', session_id: 'private' } });
  const recall = { name: 'memory_recall', arguments: { query: 'mine' } };
  expect((await one?.callTool(recall))?.structuredContent).toMatchObject({ total: 1 });
  expect((await two?.callTool(recall))?.structuredContent).toEqual({ results: [], total: 0 });
  expect((await two?.listResources())?.resources).toEqual([]);
});

it('an MCP server shows times, and resolves dates of queries, in the time zone of the connection', async () => {
  const notes = engine.namespace('zones');
  const evening = '2026-11-28T04:30:00.000Z';
  const session_id = 'twite';
  const { id } = await notes.store({ content: 'The twite flies', session_id, created_at: evening });
  await notes.store({ content: 'The twite slept', session_id, created_at: '2026-11-27T05:00:00Z' });
  await notes.store({ content: 'The twite sang', session_id, created_at: '2026-11-27T20:00:00Z' });
  const { last_sleep_at } = await notes.consolidate().then(() => notes.stats());
  const client = await createClient({ api: notes, scope: 'write' }, 'America/Los_Angeles');
  const local = '2026-11-27T20:30:00.000-08:00';

  const recall = async (args: object) => {
    const query = 'What did the twite do on 26 November 2026?';
    const { structuredContent, content } = await client.callTool({
      name: 'memory_recall',
      arguments: { query, ...args },
    });
    const text = (content as { text: string }[])[0]?.text ?? '';
    return { results: (structuredContent as RecallResponse).results, text };
  };
  const { results, text } = await recall({});
  expect(results[0]).toMatchObject({ content: 'The twite slept', created_at: '2026-11-26T21:00:00.000-08:00' });
  expect(results.find((result) => result.id === id)?.created_at).toBe(local);
  expect(text).toContain('Times are in America/Los_Angeles.');
  expect(text).toMatch(new RegExp(`^- Fri 2026-11-27 20:30 · id ${id} · `, 'm'));
  const ofDay = await recall({ since: '2026-11-27', until: '2026-11-27' });
  expect(ofDay.results.map(({ content }) => content).sort()).toEqual(['The twite flies', 'The twite sang']);

  const page = await client.callTool({ name: 'memory_session', arguments: { session_id } });
  expect((page.structuredContent as SessionResponse).memories.at(-1)).toMatchObject({ id, created_at: local });
  expect(page.content).toMatchObject([{ text: expect.stringContaining(`- Fri 2026-11-27 20:30 · id ${id}\n`) }]);

  const stats = await client.callTool({ name: 'memory_stats', arguments: {} });
  const consolidatedAt = (stats.structuredContent as StatsResponse).last_sleep_at ?? '';
  expect(consolidatedAt).toMatch(/-0[78]:00$/);
  expect(Date.parse(consolidatedAt)).toBe(Date.parse(last_sleep_at ?? ''));

  const { messages } = await client.getPrompt({ name: 'memory_context', arguments: { session_id: 'asking' } });
  expect(messages).toMatchObject([
    { content: { text: expect.stringContaining('\n- Fri 2026-11-27 · session "twite"\n  The twite flies') } },
  ]);
  for (const uri of [`memory://${id}`, `session://${session_id}`]) {
    const [resource] = (await client.readResource({ uri })).contents;
    expect((resource as { text: string }).text, uri).toContain(`"created_at":"${local}"`);
  }
  expect((await client.listResources()).resources).toMatchObject([
    {
      description: '3 memories, Thu 2026-11-26 21:00 to Fri 2026-11-27 20:30 America/Los_Angeles',
      annotations: { lastModified: local },
    },
  ]);

  const dates = { created_at: '2026-11-27 20:30', valid_to: '2026-11-30' };
  const arguments_ = { content: 'The twite stays', session_id, ...dates };
  const stored = await client.callTool({ name: 'memory_store', arguments: arguments_ });
  const { id: staying } = stored.structuredContent as { id: string };
  expect(await notes.memory(staying)).toMatchObject({ created_at: evening, valid_to: '2026-12-01T07:59:59.999Z' });
  const change = { memory_id: staying, valid_to: '2026-11-29' };
  await client.callTool({ name: 'memory_update', arguments: change });
  expect(await notes.memory(staying)).toMatchObject({ valid_to: '2026-11-30T07:59:59.999Z' });
  await client.close();
});

it('the MCP server hides an internal error from the caller, and reports the error to the operator', async () => {
  const defect = new Error('SQLITE_CORRUPT at secret.ts:1');
  const fail = () => Promise.reject(defect);
  const client = await createClient({
    api: { ...api, stats: fail, memory: fail, recall: fail, context: fail, sessions: fail },
    scope: 'operate',
  });
  const result = await client.callTool({ name: 'memory_stats', arguments: {} });
  expect(result).toMatchObject({ isError: true, _meta: { error: { code: 'INTERNAL_ERROR' } } });
  const failures = [
    client.readResource({ uri: 'memory://a' }),
    client.getPrompt({ name: 'memory_context', arguments: { task: 'any' } }),
    client.listResources(),
  ].map((response) => response.catch((error) => error));
  const errors = await Promise.all(failures);
  for (const error of errors) expect(error).toMatchObject({ code: -32603 });
  expect(JSON.stringify([result, ...errors.map(({ message, data }) => ({ message, data }))])).not.toMatch(
    /SQLITE|secret/,
  );
  expect(defects.map(({ error }) => error)).toEqual([defect, defect, defect, defect]);
  expect(defects.map(({ operation }) => operation).sort()).toEqual([
    'memory_stats',
    'prompts/get',
    'resources/list',
    'resources/read',
  ]);
});

describe('_meta of a call', () => {
  /** Deep enough to overflow the stack of a recursive function. */
  const LEVELS = 100_000;
  const DEEP: unknown = JSON.parse(`${'['.repeat(LEVELS)}${']'.repeat(LEVELS)}`);
  const callWith = async (_meta: Record<string, unknown>) => {
    const client = await createClient({ api, scope: 'read' });
    const response = await client.callTool({ name: 'memory_stats', arguments: {}, _meta });
    await client.close();
    return response;
  };

  it('_meta of a call may contain anything under keys that memoryd does not know', async () => {
    for (const others of [DEEP, 'a lone \ud800']) {
      const { isError } = await callWith({ 'example.com/trace': others, 'memoryd/unknown': others });
      expect(isError).toBeUndefined();
    }
  });

  it.each(['memoryd/idempotencyKey', 'memoryd/ifVersions', 'memoryd/structured'])(
    '_meta of a call is rejected with an invalid %s',
    async (key) => {
      for (const invalid of [DEEP, [DEEP], 'a lone \ud800', {}]) {
        const { isError, _meta } = await callWith({ [key]: invalid });
        expect({ isError, _meta }).toMatchObject({ isError: true, _meta: { error: { code: 'INVALID_REQUEST' } } });
      }
    },
  );
});

describe('a request with invalid parameters', () => {
  const NO_OBJECT = 'arguments must be a JSON object';
  const requests: { method: string; params?: object; expected: string }[] = [
    { method: 'tools/call', params: { name: 'memory_stats', arguments: [] }, expected: NO_OBJECT },
    { method: 'tools/call', params: { name: 'memory_stats', arguments: '{}' }, expected: NO_OBJECT },
    { method: 'tools/call', params: {}, expected: 'name must be a string' },
    { method: 'tools/call', params: { name: 7, arguments: 7 }, expected: 'name must be a string (and 1 more)' },
    { method: 'tools/call', expected: 'params must be a JSON object' },
    { method: 'tools/list', params: { cursor: 7 }, expected: 'cursor must be a string' },
    { method: 'resources/list', params: { cursor: false }, expected: 'cursor must be a string' },
    { method: 'resources/templates/list', params: { cursor: {} }, expected: 'cursor must be a string' },
    { method: 'resources/read', params: { uri: 7 }, expected: 'uri must be a string' },
    { method: 'prompts/list', params: { cursor: [] }, expected: 'cursor must be a string' },
    { method: 'prompts/get', params: { name: 'memory_context', arguments: [] }, expected: NO_OBJECT },
    {
      method: 'prompts/get',
      params: { name: 'memory_context', arguments: { task: 7 } },
      expected: 'arguments.task must be a string',
    },
    ...['a lone \ud800', 'a \0'].map((task) => ({
      method: 'prompts/get',
      params: { name: 'memory_context', arguments: { task } },
      expected: 'task must not contain U+0000 or a lone surrogate',
    })),
    {
      method: 'initialize',
      params: { protocolVersion: 1, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
      expected: 'protocolVersion must be a string',
    },
  ];
  it.each(requests)(
    'a request with invalid parameters is rejected by $method: $expected',
    async ({ method, params, expected }) => {
      const error = await getError({ method, ...(params && { params }) });
      expect(error).toMatchObject({ code: -32602, message: expected, data: { error: { code: 'INVALID_REQUEST' } } });
    },
  );

  it('gets an error that lists only the first problems', async () => {
    const args = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`a${i}`, i]));
    const { message, data } = await getError({ method: 'prompts/get', params: { name: 'any', arguments: args } });
    expect(message).toBe('arguments.a0 must be a string (and 7 more)');
    expect(JSON.stringify(data).length).toBeLessThan(2000);
  });
});
