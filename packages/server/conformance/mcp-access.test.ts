import { join } from 'node:path';
import type { RecallResponse, SessionResponse, StatsResponse } from '@memoryd/contract';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Agent, httpAgent, stdioAgent } from './agent.ts';
import { createTemporaryFolder } from './folders.ts';
import { addKey } from './keys.ts';
import { type RunningServer, startServer } from './server.ts';
import { expectCleanEnd, WORDS_ONLY } from './under-test.ts';

const READING = ['memory_recall', 'memory_session', 'memory_stats'];
const WRITING = [...READING, 'memory_forget', 'memory_store', 'memory_update'].sort();
const ALL = [...WRITING, 'memory_consolidate'].sort();

const connectWithKey = (server: RunningServer, key: string): Promise<Agent> =>
  httpAgent(server.port, { authorization: `Bearer ${key}` });

describe('MCP access with API keys', () => {
  const dbPath = join(createTemporaryFolder(), 'memory.db');
  const keys = { reader: '', writer: '', operator: '' };
  let server: RunningServer;

  beforeAll(async () => {
    keys.reader = await addKey(dbPath, 'kitchen', 'read');
    keys.writer = await addKey(dbPath, 'kitchen', 'write');
    keys.operator = await addKey(dbPath, 'garden', 'operate');
    server = await startServer({ dbPath, env: WORDS_ONLY });
  });

  it('offers only the tools allowed by the scope of the key, and only in the namespace of the key', async () => {
    const reader = await connectWithKey(server, keys.reader);
    const writer = await connectWithKey(server, keys.writer);
    const operator = await httpAgent(server.port, { 'x-api-key': keys.operator });
    const getNames = async ({ client }: Agent) => (await client.listTools()).tools.map(({ name }) => name).sort();
    expect(await Promise.all([reader, writer, operator].map(getNames))).toEqual([READING, WRITING, ALL]);

    expect((await reader.failure('memory_store', { content: 'not mine to write' })).error.code).toBe('FORBIDDEN');
    expect((await writer.failure('memory_consolidate')).text).toMatch(
      /^FORBIDDEN: the tool memory_consolidate needs .* operate/,
    );
    const id = await writer.store({ content: 'the oven runs hot', session_id: 'oven' });
    const recall = (agent: Agent) => agent.call<RecallResponse>('memory_recall', { query: 'oven' });
    expect((await recall(reader)).results).toMatchObject([{ id }]);
    expect((await recall(operator)).total).toBe(0);
    expect((await operator.failure('memory_forget', { memory_id: id })).error.code).toBe('NOT_FOUND');
    await expect(operator.client.readResource({ uri: `memory://${id}` })).rejects.toMatchObject({ code: -32602 });
    expect((await operator.client.listResources()).resources).toEqual([]);
    expect((await reader.client.listResources()).resources).toMatchObject([{ uri: 'session://oven' }]);
    expect((await reader.call<StatsResponse>('memory_stats')).db_size_mb).toBeLessThan(0.001);
    await Promise.all([reader, writer, operator].map((agent) => agent.end()));
  });

  it('rejects cursors of resources and of sessions that another namespace, or an agent of one user, received', async () => {
    const writer = await connectWithKey(server, keys.writer);
    const operator = await httpAgent(server.port, { 'x-api-key': keys.operator });
    const toKitchen = { 'x-api-key': keys.operator, 'X-Memoryd-Namespace': 'kitchen' };
    const ofUser = await httpAgent(server.port, toKitchen, '?user_id=ada');
    for (const agent of [writer, operator, ofUser]) {
      for (let i = 0; i < 51; i++) await agent.store({ content: 'a page', session_id: `page ${i}` });
      await agent.store({ content: 'the next page', session_id: 'page 0' });
    }
    const { nextCursor = '' } = await writer.client.request({ method: 'resources/list' });
    const { next_cursor: cursor } = await writer.call<SessionResponse>('memory_session', {
      session_id: 'page 0',
      limit: 1,
    });
    for (const agent of [operator, ofUser]) {
      await expect(agent.client.listResources({ cursor: nextCursor })).rejects.toMatchObject({ code: -32602 });
      const { error } = await agent.failure('memory_session', { session_id: 'page 0', cursor });
      expect(error).toMatchObject({ code: 'INVALID_REQUEST', details: [{ path: '/cursor' }] });
    }
    expect((await writer.client.listResources({ cursor: nextCursor })).resources).not.toEqual([]);
    await Promise.all([writer, operator, ofUser].map((agent) => agent.end()));
  });

  it('requires a key over HTTP once a key exists, but not for an agent that opens the database file', async () => {
    await expect(httpAgent(server.port)).rejects.toMatchObject({ status: 401 });
    await expect(connectWithKey(server, 'mmd_0123456789abcdef_00')).rejects.toMatchObject({ status: 401 });
    await expectCleanEnd(server);
    const local = await stdioAgent(dbPath, WORDS_ONLY);
    expect((await local.client.listTools()).tools).toHaveLength(ALL.length);
    await local.end();
  });
});
