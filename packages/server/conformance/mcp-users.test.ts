import { join } from 'node:path';
import type { Memory, RecallResponse, SessionResponse, StatsResponse } from '@memoryd/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Agent, commandAgent, httpAgent } from './agent.ts';
import { createTemporaryFolder } from './folders.ts';
import { addKey, getAdministration } from './keys.ts';
import { expectError } from './refusal.ts';
import { type RunningServer, startServer } from './server.ts';
import { Client, expectCleanEnd, WORDS_ONLY } from './under-test.ts';

const WORDS = { content: 'the bittern booms', session_id: 'marsh' };
const ACCEPT = 'application/json, text/event-stream';

/** Creates a key and returns the header that sends it. */
async function createKeyHeader(dbPath: string, owner: { user_id?: string; agent_id?: string } = {}) {
  const { keys } = await getAdministration(dbPath);
  const { key } = await keys.add({ namespace: 'default', scope: 'write', ...owner });
  return { authorization: `Bearer ${key}` };
}

interface Connections {
  connect(user: string): Promise<Agent>;
  /** Connects an agent that is not limited to a user. */
  connectAll(): Promise<Agent>;
  end?(): Promise<void>;
}

function connectOverStdio(): Connections {
  const options = ['--db-path', join(createTemporaryFolder(), 'memory.db'), '--namespace', 'app'];
  return {
    connect: (user) => commandAgent([...options, '--user', user, '--agent', 'cook'], WORDS_ONLY),
    connectAll: () => commandAgent(options, WORDS_ONLY),
  };
}

/** Connects `memoryd mcp --url` to a service, with a key of the whole namespace. */
async function connectOverStdioToService(): Promise<Connections> {
  const server = await startServer({ env: WORDS_ONLY });
  const key = await addKey(server.dbPath, 'default', 'operate');
  const env = { SERVICE_API_KEY: key };
  const options = ['--url', `http://127.0.0.1:${server.port}`];
  return {
    connect: (user) => commandAgent([...options, '--user', user, '--agent', 'cook'], env),
    connectAll: () => commandAgent(options, env),
    end: () => expectCleanEnd(server),
  };
}

async function connectByUrl(): Promise<Connections> {
  const server = await startServer({ env: WORDS_ONLY });
  const headers = { 'x-api-key': await addKey(server.dbPath, 'default', 'operate') };
  return {
    connect: (user) => httpAgent(server.port, headers, `?user_id=${user}&agent_id=cook`),
    connectAll: () => httpAgent(server.port, headers),
    end: () => expectCleanEnd(server),
  };
}

async function connectByKey(): Promise<Connections> {
  const server = await startServer({ env: WORDS_ONLY });
  const headers = { 'x-api-key': await addKey(server.dbPath, 'default', 'operate') };
  return {
    connect: async (user) =>
      httpAgent(server.port, await createKeyHeader(server.dbPath, { user_id: user, agent_id: 'cook' })),
    connectAll: () => httpAgent(server.port, headers),
    end: () => expectCleanEnd(server),
  };
}

const connections = [
  { access: 'with --user on a file', open: connectOverStdio },
  { access: 'with --user on a service', open: connectOverStdioToService },
  { access: 'with user_id in the URL', open: connectByUrl },
  { access: 'with user-bound keys', open: connectByKey },
];

describe.each(connections)('MCP agents of two users, $access,', ({ open }) => {
  let opened: Connections;
  let agents: Record<'ada' | 'ben' | 'all', Agent>;
  const ids = { ada: '', ben: '' };

  beforeAll(async () => {
    opened = await open();
    agents = {
      ada: await opened.connect('ada'),
      ben: await opened.connect('ben'),
      all: await opened.connectAll(),
    };
    ids.ada = await agents.ada.store(WORDS);
    ids.ben = await agents.ben.store(WORDS);
  });
  afterAll(async () => {
    for (const agent of Object.values(agents)) await agent.end();
    await opened.end?.();
  });

  it('MCP agents of two users receive neither namespace-wide tools nor tools with a user parameter', async () => {
    const { tools } = await agents.ada.client.listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual([
      ...['memory_forget', 'memory_recall', 'memory_session', 'memory_stats', 'memory_store', 'memory_update'],
    ]);
    for (const { name, inputSchema } of [...tools, ...(await agents.all.client.listTools()).tools]) {
      for (const field of ['user_id', 'agent_id', 'shared', 'attachment', 'attachments'])
        expect(inputSchema.properties, name).not.toHaveProperty(field);
    }
    const { error } = await agents.ada.failure('memory_recall', { query: 'bittern', user_id: 'ben' });
    expect(error).toMatchObject({ code: 'INVALID_REQUEST', message: expect.stringContaining('user_id') });
    expect((await agents.ada.failure('memory_consolidate')).error.code).toBe('FORBIDDEN');
  });

  it('store memories with their user and agent', async () => {
    const { contents } = await agents.ada.client.readResource({ uri: `memory://${ids.ada}` });
    const memory = JSON.parse((contents[0] as { text: string }).text) as Memory;
    expect(memory).toMatchObject({ ...WORDS, user_id: 'ada', agent_id: 'cook' });
  });

  it('recall, read and count only their own memories', async () => {
    for (const user of ['ada', 'ben'] as const) {
      const { results } = await agents[user].call<RecallResponse>('memory_recall', { query: 'bittern' });
      expect(results.map(({ id }) => id)).toEqual([ids[user]]);
      const { memories } = await agents[user].call<SessionResponse>('memory_session', { session_id: 'marsh' });
      expect(memories.map(({ id }) => id)).toEqual([ids[user]]);
      expect(await agents[user].call<StatsResponse>('memory_stats')).toMatchObject({ working_count: 1 });
      const { resources } = await agents[user].client.listResources();
      expect(resources).toMatchObject([{ uri: 'session://marsh', description: expect.stringMatching(/^1 memory,/) }]);
      const prompt = { name: 'memory_context', arguments: { task: 'bittern' } };
      expect(JSON.stringify((await agents[user].client.getPrompt(prompt)).messages)).not.toContain(
        ids[user === 'ada' ? 'ben' : 'ada'],
      );
    }
  });

  it('MCP agents of two users get NOT_FOUND for a memory of the other user', async () => {
    const { ada } = agents;
    const correction = { content: 'the heron croaks', supersedes: ids.ben };
    for (const [tool, args] of [
      ['memory_update', { memory_id: ids.ben, importance: 1 }],
      ['memory_forget', { memory_id: ids.ben }],
      ['memory_store', correction],
    ] as const) {
      expect((await ada.failure(tool, args)).error.code, tool).toBe('NOT_FOUND');
    }
    await expect(ada.client.readResource({ uri: `memory://${ids.ben}` })).rejects.toMatchObject({ code: -32602 });
    expect((await agents.ben.call<RecallResponse>('memory_recall', { query: 'bittern' })).total).toBe(1);
  });

  it('MCP agents of two users share a session that an agent of the whole namespace lists once', async () => {
    const { resources } = await agents.all.client.listResources();
    expect(resources).toMatchObject([{ uri: 'session://marsh', description: expect.stringMatching(/^2 memories,/) }]);
  });
});

describe('the URL parameters of MCP over HTTP', () => {
  let server: RunningServer;
  let client: Client;
  let ada: Record<string, string>;
  beforeAll(async () => {
    server = await startServer({ env: WORDS_ONLY });
    client = new Client(() => server);
    ada = await createKeyHeader(server.dbPath, { user_id: 'ada' });
  });
  afterAll(() => expectCleanEnd(server));
  const post = (parameters: string) => ({
    method: 'POST',
    path: `/mcp?${parameters}`,
    headers: { ...ada, accept: ACCEPT },
    json: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  });

  it('the URL parameters of MCP over HTTP may name only the user to which the key is bound', async () => {
    expect((await client.send(post('user_id=ada'))).status).toBe(200);
    expectError(await client.send(post('user_id=ben')), { code: 'FORBIDDEN' });
    expectError(await client.send(post('user_id=')), { field: 'user_id' });
    expectError(await client.send(post('user=ada')), { field: 'user' });
  });

  it('the URL parameters of MCP over HTTP can add an agent and shared memories to the scope of a user-bound key', async () => {
    const writer = await createKeyHeader(server.dbPath);
    const shared = await client.store({ content: 'the marsh is open to all' }, writer);
    const [cook, reader] = await Promise.all(
      ['?agent_id=cook', '?shared=true'].map((parameters) => httpAgent(server.port, ada, parameters)),
    );
    const id = (await cook?.store({ content: 'the marsh is wet' })) ?? '';
    const stored = await client.ok({ path: `/memories/${id}`, headers: writer });
    expect(stored).toMatchObject({ user_id: 'ada', agent_id: 'cook' });
    const recallIds = async (agent?: Agent) =>
      (await agent?.call<RecallResponse>('memory_recall', { query: 'marsh' }))?.results
        .map((result) => result.id)
        .sort();
    expect(await recallIds(cook)).toEqual([id]);
    expect(await recallIds(reader)).toEqual([id, shared].sort());
    expect((await reader?.failure('memory_forget', { memory_id: shared }))?.error.code).toBe('NOT_FOUND');
    await cook?.end();
    await reader?.end();
  });
});
