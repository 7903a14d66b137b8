// The engine's entry has no embedder to lend. The peers must have memoryd's own, or models would be compared.
import { openMiniLm } from '../../../packages/engine/dist/embedding/minilm.js';

/** memoryd's model for those who bring none: one unit vector a text. */
export interface SharedEmbedder {
  readonly dimensions: number;
  /** Embeds texts and keeps their vectors. */
  prepare(contents: readonly string[], onEmbedded?: (count: number) => void): Promise<void>;
  /** The vector of a text that was prepared; undefined of any other. */
  prepared(content: string): Float32Array | undefined;
  /** Embeds a question; nothing is kept. */
  queryVector(query: string): Promise<Float32Array>;
  /** Drops the prepared vectors. */
  forget(): void;
  close(): Promise<void>;
}

/**
 * Opens the model. Of a text that is longer than its window the vector of the first part is taken, as most programs
 * do, which let the tokenizer cut; a text that it knows nothing of gets a vector that is close to no other.
 */
export async function openSharedEmbedder(): Promise<SharedEmbedder> {
  const embedder = await openMiniLm();
  const { dimensions, largestBatch } = embedder;
  const unknown = new Float32Array(dimensions).fill(1 / Math.sqrt(dimensions));
  const prepared = new Map<string, Float32Array>();
  return {
    dimensions,
    async prepare(contents, onEmbedded = () => {}) {
      for (let from = 0; from < contents.length; from += largestBatch) {
        const batch = contents.slice(from, from + largestBatch);
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
