import { join } from 'node:path';
import { type ErrorBody, type Memory, type MemoryApi, MemoryError } from '@memoryd/contract';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { describe } from 'vitest';
import { type MemoryApiUnderTest, memoryApiContract } from '../../engine/src/memory-api.contract.ts';
import { type Agent, commandAgent, httpAgent, stdioAgent } from './agent.ts';
import { temporaryFolder } from './process.ts';
import { startServer } from './server.ts';
import { expectCleanEnd, WORDS_ONLY } from './under-test.ts';

const NO_TOOL = 'there is no tool for it';

/** The verbs that models have no tool for. */
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
  events: NO_TOOL,
  exportMemories: NO_TOOL,
  importMemories: NO_TOOL,
} satisfies Partial<Record<keyof MemoryApi, string>>;

/** The MemoryApi as far as tools and resources have it. */
function getMemory(agent: Agent): MemoryApi {
  async function call<Answer>(name: string, args: object, meta: object = {}): Promise<Answer> {
    const params = { name, arguments: { ...args }, _meta: { ...meta } };
    const { isError, _meta, structuredContent } = await agent.client.callTool(params);
    if (isError) throw getError(_meta?.error as ErrorBody);
    return structuredContent as Answer;
  }
  const offered: Omit<MemoryApi, keyof typeof without> = {
    store: (request, { idempotencyKey } = {}) => call('store', request, { 'memoryd/idempotencyKey': idempotencyKey }),
    recall: (request) => call('recall', request),
    session: (request) => call('session', request),
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
        throw error instanceof McpError ? getError((error.data as { error: ErrorBody }).error) : error;
      }
    },
  };
  return offered as MemoryApi;
}

function getError({ code, message, details }: ErrorBody): MemoryError {
  return new MemoryError(code, message, { ...(details && { details }) });
}

async function overStdio(): Promise<MemoryApiUnderTest> {
  const agent = await stdioAgent(join(temporaryFolder(), 'memory.db'), WORDS_ONLY);
  return { memory: getMemory(agent), close: () => agent.end() };
}

async function overStdioAndHttp(): Promise<MemoryApiUnderTest> {
  const server = await startServer({ env: WORDS_ONLY });
  const agent = await commandAgent(['--url', `http://127.0.0.1:${server.port}`]);
  return {
    memory: getMemory(agent),
    async close() {
      await agent.end();
      await expectCleanEnd(server);
    },
  };
}

async function overHttp(): Promise<MemoryApiUnderTest> {
  const server = await startServer({ env: WORDS_ONLY });
  const agent = await httpAgent(server.port);
  return {
    memory: getMemory(agent),
    async close() {
      await agent.end();
      await expectCleanEnd(server);
    },
  };
}

describe('tools over stdio', () => memoryApiContract(overStdio, { without }));
describe('tools over stdio that ask a service', () => memoryApiContract(overStdioAndHttp, { without }));
describe('tools over Streamable HTTP', () => memoryApiContract(overHttp, { without }));
