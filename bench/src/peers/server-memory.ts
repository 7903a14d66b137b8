import { join } from 'node:path';
import { getPackagePath, getPackageVersion, loadPackage } from './packages.ts';
import type { Peer, PeerKind, PeerMemory } from './peer.ts';
import { sortByScore } from './rank-fusion.ts';
import { getWords } from './words.ts';

const REQUEST_TIMEOUT_MS = 600_000;

interface McpClient {
  connect(transport: object): Promise<void>;
  callTool(request: { name: string; arguments: object }, schema: undefined, options: object): Promise<ToolAnswer>;
  close(): Promise<void>;
}

interface Entity {
  name: string;
  observations: string[];
}

interface ToolAnswer {
  isError?: boolean;
  content?: { text?: string }[];
  structuredContent?: { entities: Entity[] };
}

type CallTool = (name: string, parameters: object) => Promise<Entity[]>;

interface Search {
  name: string;
  use: string;
  search(call: CallTool, query: string, stored: number): Promise<Entity[]>;
}

const searches: Search[] = [
  {
    name: 'server-memory',
    use: 'one search_nodes with the whole question',
    search: (call, query) => call('search_nodes', { query }),
  },
  {
    name: 'server-memory-words',
    use: 'one search_nodes for each different word of the question, entities ranked by the sum of log(1 + stored / found) over the words that found them',
    search: searchWords,
  },
];

/** The reference memory server of the Model Context Protocol, a knowledge graph, with two search methods. */
export function serverMemory(): PeerKind[] {
  const version = `@modelcontextprotocol/server-memory ${getPackageVersion('@modelcontextprotocol/server-memory')}`;
  return searches.map(({ name, use, search }) => ({
    name,
    version,
    use: `a server process over stdio; one entity per memory with the text as its observation, 1,000 entities per call of create_entities; ${use}`,
    batchSize: 1000,
    usesSharedVectors: false,
    open: ({ folder }) => openGraph(folder, search),
  }));
}

async function openGraph(folder: string, search: Search['search']): Promise<Peer> {
  const client = await connect(join(folder, 'memory.jsonl'));
  const call = getTools(client);
  let stored = 0;
  return {
    async store(memories) {
      const entities = memories.map((memory, index) => getEntity(memory, stored + index));
      const created = await call('create_entities', { entities });
      if (created.length !== memories.length)
        throw new Error(`server-memory must store each memory, but stored ${created.length} of ${memories.length}`);
      stored += memories.length;
    },
    async recall(query, k) {
      const entities = await search(call, query, stored);
      return entities.slice(0, k).flatMap(({ observations }) => observations);
    },
    close: () => client.close(),
  };
}

async function connect(filePath: string): Promise<McpClient> {
  const { Client } = loadPackage<{ Client: new (about: object) => McpClient }>('@modelcontextprotocol/sdk/client');
  const { StdioClientTransport } = loadPackage<{ StdioClientTransport: new (server: object) => object }>(
    '@modelcontextprotocol/sdk/client/stdio.js',
  );
  const client = new Client({ name: 'memoryd-bench', version: '0.1.0' });
  const script = getPackagePath('@modelcontextprotocol/server-memory', 'dist/index.js');
  const env = { MEMORY_FILE_PATH: filePath };
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [script], env, stderr: 'ignore' }));
  return client;
}

function getTools(client: McpClient): CallTool {
  return async (name, parameters) => {
    const request = { name, arguments: parameters };
    const result = await client.callTool(request, undefined, { timeout: REQUEST_TIMEOUT_MS });
    if (result.isError) {
      throw new Error(`the tool ${name} of server-memory failed: ${result.content?.map(({ text }) => text).join(' ')}`);
    }
    if (result.structuredContent === undefined) {
      throw new Error(`the tool ${name} of server-memory must return structuredContent`);
    }
    return result.structuredContent.entities;
  };
}

function getEntity({ content }: PeerMemory, index: number): Entity & { entityType: string } {
  return { name: `m${index}`, entityType: 'turn', observations: [content] };
}

/**
 * Searches for each word of the query separately, and sorts entities by the total weight of their words. Rare words
 * weigh more, as with inverse document frequency.
 */
async function searchWords(call: CallTool, query: string, stored: number): Promise<Entity[]> {
  const entities = new Map<string, Entity>();
  const scores = new Map<string, number>();
  for (const word of getWords(query)) {
    const found = await call('search_nodes', { query: word });
    for (const entity of found) {
      entities.set(entity.name, entity);
      scores.set(entity.name, (scores.get(entity.name) ?? 0) + Math.log(1 + stored / found.length));
    }
  }
  return sortByScore(scores).flatMap((name) => entities.get(name) ?? []);
}
