import { join } from 'node:path';
import { type ErrorBody, type Memory, type MemoryApi, MemoryError, type StoreResponse } from '@memoryd/contract';
import { type MemoryApiUnderTest, memoryApiContract } from '@memoryd/suites';
import { ProtocolError } from '@modelcontextprotocol/client';
import { describe } from 'vitest';
import { type Agent, commandAgent, httpAgent, stdioAgent } from './agent.ts';
import { createTemporaryFolder } from './process.ts';
import { startServer } from './server.ts';
import { expectCleanEnd, WORDS_ONLY } from './under-test.ts';

const NO_TOOL = 'MCP has no tool for it';

/** The methods of MemoryApi without an MCP tool. */
const without = {
  storeBatch: NO_TOOL,
  sessions: NO_TOOL,
  users: NO_TOOL,
  history: NO_TOOL,
  memories: NO_TOOL,
  forgetMany: NO_TOOL,
  consolidations: NO_TOOL,
  consolidation: NO_TOOL,
  undo: NO_TOOL,
  corrections: NO_TOOL,
  decideCorrection: NO_TOOL,
  events: NO_TOOL,
  exportMemories: NO_TOOL,
  importMemories: NO_TOOL,
} satisfies Partial<Record<keyof MemoryApi, string>>;

/** Implements MemoryApi, except for the methods in `without`, with the tools and resources of an agent. */
function createMemoryApi(agent: Agent): MemoryApi {
  async function call<Answer>(name: string, args: object, meta: object = {}): Promise<Answer> {
    const params = { name, arguments: { ...args }, _meta: { ...meta } };
    const { isError, _meta, structuredContent } = await agent.client.callTool(params);
    if (isError) throw toMemoryError(_meta?.error as ErrorBody);
    return structuredContent as Answer;
  }
  const supported: Omit<MemoryApi, keyof typeof without> = {
    // The tool always shows similar memories.
    async store(request, { idempotencyKey, similar: count } = {}) {
      const meta = { 'memoryd/idempotencyKey': idempotencyKey };
      const { similar = [], ...stored } = await call<StoreResponse>('store', request, meta);
      return { ...stored, ...(count !== undefined && { similar: similar.slice(0, count) }) };
    },
    // By default, these tools return only what holds.
    recall: (request) => call('recall', { current: false, ...request }),
    session: (request) => call('session', { current: false, ...request }),
    update: (memory_id, request, { ifVersions } = {}) =>
      call('update', { memory_id, ...request }, { 'memoryd/ifVersions': ifVersions }),
    forget: (memory_id, { ifVersions } = {}) => call('forget', { memory_id }, { 'memoryd/ifVersions': ifVersions }),
    consolidate: (request = {}) => call('consolidate', request),
    stats: () => call('stats', {}),
    async memory(memoryId) {
      try {
        const { contents } = await agent.client.readResource({ uri: `memory://${encodeURIComponent(memoryId)}` });
        return JSON.parse(contents.map((content) => ('text' in content ? content.text : '')).join('')) as Memory;
      } catch (error) {
        throw error instanceof ProtocolError ? toMemoryError((error.data as { error: ErrorBody }).error) : error;
      }
    },
  };
  return supported as MemoryApi;
}

function toMemoryError({ code, message, details }: ErrorBody): MemoryError {
  return new MemoryError(code, message, { ...(details && { details }) });
}

async function connectOverStdio(): Promise<MemoryApiUnderTest> {
  const agent = await stdioAgent(join(createTemporaryFolder(), 'memory.db'), WORDS_ONLY);
  return { memory: createMemoryApi(agent), close: () => agent.end() };
}

async function connectOverStdioToService(): Promise<MemoryApiUnderTest> {
  const server = await startServer({ env: WORDS_ONLY });
  const agent = await commandAgent(['--url', `http://127.0.0.1:${server.port}`]);
  return {
    memory: createMemoryApi(agent),
    async close() {
      await agent.end();
      await expectCleanEnd(server);
    },
  };
}

async function connectOverHttp(): Promise<MemoryApiUnderTest> {
  const server = await startServer({ env: WORDS_ONLY });
  const agent = await httpAgent(server.port);
  return {
    memory: createMemoryApi(agent),
    async close() {
      await agent.end();
      await expectCleanEnd(server);
    },
  };
}

describe('MCP tools over stdio', () => memoryApiContract(connectOverStdio, { without }));
describe('MCP tools over stdio, connected to a service by URL', () =>
  memoryApiContract(connectOverStdioToService, { without }));
describe('MCP tools over Streamable HTTP', () => memoryApiContract(connectOverHttp, { without }));
