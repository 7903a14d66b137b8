// Imported from a build file because the engine does not export its embedder. Peers use the same model as memoryd,
// because otherwise the benchmark would compare models.
import { openMiniLm } from '../../../packages/engine/dist/embedding/minilm.js';

/** memoryd's embedding model, for peers without a model of their own. Returns one unit vector per text. */
export interface SharedEmbedder {
  readonly dimensions: number;
  /** Embeds texts and caches their vectors. */
  prepare(contents: readonly string[], onEmbedded?: (count: number) => void): Promise<void>;
  /** Returns the cached vector of a prepared text; otherwise undefined. */
  prepared(content: string): Float32Array | undefined;
  /** Embeds a question without caching its vector. */
  queryVector(query: string): Promise<Float32Array>;
  /** Clears the cached vectors. */
  forget(): void;
  close(): Promise<void>;
}

/**
 * Opens the model. A text longer than the model's window gets the vector of its first part, as in programs whose
 * tokenizer truncates. All texts without known tokens get the same constant vector.
 */
export async function openSharedEmbedder(): Promise<SharedEmbedder> {
  const embedder = await openMiniLm();
  const { dimensions, maxBatchSize } = embedder;
  const unknown = new Float32Array(dimensions).fill(1 / Math.sqrt(dimensions));
  const prepared = new Map<string, Float32Array>();
  return {
    dimensions,
    async prepare(contents, onEmbedded = () => {}) {
      for (let from = 0; from < contents.length; from += maxBatchSize) {
        const batch = contents.slice(from, from + maxBatchSize);
        const embeddings = await embedder.embed(batch, 'memory');
        for (const [index, content] of batch.entries()) prepared.set(content, embeddings[index]?.vectors[0] ?? unknown);
        onEmbedded(batch.length);
      }
    },
    prepared: (content) => prepared.get(content),
    async queryVector(query) {
      const [embedding] = await embedder.embed([query], 'query');
      return embedding?.vectors[0] ?? unknown;
    },
    forget: () => prepared.clear(),
    close: () => embedder.close(),
  };
}
