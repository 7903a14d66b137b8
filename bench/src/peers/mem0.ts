import { join } from 'node:path';
import { loadPackage, packageVersion } from './packages.ts';
import type { Peer, PeerKind } from './peer.ts';
import type { SharedEmbedder } from './shared-embedder.ts';

interface Mem0 {
  add(
    messages: { role: string; content: string }[],
    options: { userId: string; infer: boolean },
  ): Promise<{ results: unknown[] }>;
  search(
    query: string,
    options: { filters: { user_id: string }; topK: number; threshold: number },
  ): Promise<{ results: { memory: string }[] }>;
}

const USER = 'bench';

/** mem0's own store in this process, keeping texts as they are: its language model takes no part. */
export function mem0(): PeerKind {
  return {
    name: 'mem0',
    version: `mem0ai ${packageVersion('mem0ai')}`,
    use: "in this process; Memory of mem0ai/oss with its in-process vector store and history in files, infer: false, threshold 0, memoryd's model as its LangChain embedder; 100 messages a call of add",
    batchSize: 100,
    isGivenVectors: true,
    async open({ folder, embedder }): Promise<Peer> {
      // Read when the package is loaded: it neither reports its use nor writes into the home folder.
      Object.assign(process.env, { MEM0_TELEMETRY: 'false', MEM0_DIR: folder });
      const { Memory } = loadPackage<{ Memory: new (config: object) => Mem0 }>('mem0ai/oss');
      const memory = new Memory(getConfig(folder, embedder));
      return {
        async store(memories) {
          const messages = memories.map(({ content }) => ({ role: 'user', content }));
          const { results } = await memory.add(messages, { userId: USER, infer: false });
          if (results.length !== messages.length) throw new Error(`mem0 kept ${results.length} of ${messages.length}`);
        },
        async recall(query, k) {
          const { results } = await memory.search(query, { filters: { user_id: USER }, topK: k, threshold: 0 });
          return results.map((result) => result.memory);
        },
        // It has nothing to close.
        close: async () => {},
      };
    },
  };
}

function getConfig(folder: string, embedder: SharedEmbedder): object {
  return {
    embedder: { provider: 'langchain', config: { model: langchainEmbeddings(embedder) } },
    vectorStore: {
      provider: 'memory',
      config: { collectionName: 'bench', dimension: embedder.dimensions, dbPath: join(folder, 'vectors.db') },
    },
    historyDbPath: join(folder, 'history.db'),
    // It wants a model to be named, which nothing here asks anything.
    llm: { provider: 'openai', config: { apiKey: 'none', model: 'none' } },
  };
}

/**
 * The embedder in the shape of LangChain's `Embeddings`. mem0 embeds memories and questions by the same method: a text
 * that was prepared is a memory.
 */
function langchainEmbeddings(embedder: SharedEmbedder): object {
  const embed = async (text: string): Promise<number[]> =>
    Array.from(embedder.prepared(text) ?? (await embedder.queryVector(text)));
  return { embedQuery: embed, embedDocuments: (texts: string[]) => Promise.all(texts.map(embed)) };
}
