import { join } from 'node:path';
import { getPackageVersion, loadPackage } from './packages.ts';
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

/** mem0 in this process, storing texts verbatim: `infer: false` turns its language model off. */
export function mem0(): PeerKind {
  return {
    name: 'mem0',
    version: `mem0ai ${getPackageVersion('mem0ai')}`,
    use: "in this process; Memory of mem0ai/oss with its in-process vector store and history in files, infer: false, threshold 0, memoryd's model as its LangChain embedder; 100 messages per call of add",
    batchSize: 100,
    usesSharedVectors: true,
    async open({ folder, embedder }): Promise<Peer> {
      // Turns telemetry off and moves files out of the home folder. mem0 reads these variables when it is loaded.
      Object.assign(process.env, { MEM0_TELEMETRY: 'false', MEM0_DIR: folder });
      const { Memory } = loadPackage<{ Memory: new (config: object) => Mem0 }>('mem0ai/oss');
      const memory = new Memory(getConfig(folder, embedder));
      return {
        async store(memories) {
          const messages = memories.map(({ content }) => ({ role: 'user', content }));
          const { results } = await memory.add(messages, { userId: USER, infer: false });
          if (results.length !== messages.length)
            throw new Error(`mem0 must store each memory, but stored ${results.length} of ${messages.length}`);
        },
        async recall(query, k) {
          const { results } = await memory.search(query, { filters: { user_id: USER }, topK: k, threshold: 0 });
          return results.map((result) => result.memory);
        },
        // mem0 has no close method.
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
    // mem0 requires a model name. The model is never called.
    llm: { provider: 'openai', config: { apiKey: 'none', model: 'none' } },
  };
}

/**
 * Adapts the embedder to LangChain's `Embeddings`. mem0 embeds memories and questions with the same method. Memories
 * have a prepared vector; questions are embedded at each call.
 */
function langchainEmbeddings(embedder: SharedEmbedder): object {
  const embed = async (text: string): Promise<number[]> =>
    Array.from(embedder.prepared(text) ?? (await embedder.queryVector(text)));
  return { embedQuery: embed, embedDocuments: (texts: string[]) => Promise.all(texts.map(embed)) };
}
