import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MemoryApi, Scope } from '@memoryd/contract';
import { type Engine, openEngine } from '@memoryd/engine';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readSettings } from '../settings/read.ts';
import type { McpCaller } from './caller.ts';
import { createMcpServer } from './server.ts';

const folder = mkdtempSync(join(tmpdir(), 'memoryd-mcp-'));
let engine: Engine;
let api: MemoryApi;

beforeAll(async () => {
  const settings = readSettings({ embedder: 'none', sleepIntervalSeconds: '0' }, {});
  engine = await openEngine({ ...settings, dbPath: join(folder, 'memory.db'), telemetry: { report: () => {} } });
  api = engine.namespace('default');
});
afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true });
});

const defects: { error: unknown; asked: string }[] = [];

async function clientOf(caller: McpCaller): Promise<Client> {
  const server = createMcpServer(caller, {
    version: '1.2.3',
    maxArgumentBytes: 1024,
    onDefect: (error, asked) => defects.push({ error, asked }),
  });
  const [here, there] = InMemoryTransport.createLinkedPair();
  await server.connect(there);
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(here);
  return client;
}

describe('a caller who may', () => {
  const allowed: { scope: Scope; tools: string[] }[] = [
    { scope: 'read', tools: ['recall', 'session', 'stats'] },
    {
      scope: 'write',
      tools: ['recall', 'store', 'update', 'forget', 'session', 'stats'],
    },
    {
      scope: 'operate',
      tools: ['recall', 'store', 'update', 'forget', 'session', 'consolidate', 'stats'],
    },
  ];
  it.each(allowed)('$scope finds $tools, and is refused the others', async ({ scope, tools }) => {
    const client = await clientOf({ api, scope });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(tools);
    for (const name of ['recall', 'store', 'update', 'forget', 'session', 'consolidate', 'stats']) {
      const { isError, _meta } = await client.callTool({ name, arguments: { colour: 'none' } });
      const code = tools.includes(name) ? 'INVALID_REQUEST' : 'FORBIDDEN';
      expect({ isError, _meta }, name).toMatchObject({ isError: true, _meta: { error: { code } } });
    }
    await client.close();
  });
});

it('answers for the namespace of its caller alone', async () => {
  const [one, two] = await Promise.all(
    ['one', 'two'].map((name) => clientOf({ api: engine.namespace(name), scope: 'operate' })),
  );
  await one?.callTool({ name: 'store', arguments: { content: 'mine alone', session_id: 'private' } });
  const recall = { name: 'recall', arguments: { query: 'mine' } };
  expect((await one?.callTool(recall))?.structuredContent).toMatchObject({ total: 1 });
  expect((await two?.callTool(recall))?.structuredContent).toEqual({ results: [], total: 0 });
  expect((await two?.listResources())?.resources).toEqual([]);
});

it('shows nothing of a defect, and reports it', async () => {
  const defect = new Error('SQLITE_CORRUPT at secret.ts:1');
  const fail = () => Promise.reject(defect);
  const client = await clientOf({
    api: { ...api, stats: fail, memory: fail, recall: fail, sessions: fail },
    scope: 'operate',
  });
  const result = await client.callTool({ name: 'stats', arguments: {} });
  expect(result).toMatchObject({ isError: true, _meta: { error: { code: 'INTERNAL_ERROR' } } });
  const failures = [
    client.readResource({ uri: 'memory://a' }),
    client.getPrompt({ name: 'recall_context', arguments: { task: 'any' } }),
    client.listResources(),
  ].map((asked) => asked.catch((error) => error));
  const errors = await Promise.all(failures);
  for (const error of errors) expect(error).toMatchObject({ code: -32603 });
  expect(JSON.stringify([result, ...errors.map(({ message, data }) => ({ message, data }))])).not.toMatch(
    /SQLITE|secret/,
  );
  expect(defects.map(({ error }) => error)).toEqual([defect, defect, defect, defect]);
  expect(defects.map(({ asked }) => asked)).toEqual(['stats', 'resources/read', 'prompts/get', 'resources/list']);
});
