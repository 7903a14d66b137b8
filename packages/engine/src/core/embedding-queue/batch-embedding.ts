import { type Embedder, EmbedderUnavailable, type Embedding } from '../../ports/embedder.ts';
import type { EmbeddingBatch, MemoryVectors, PendingEmbedding } from '../../ports/storage-vectors.ts';

/**
 * Memories that are embedded and kept together, and about how many characters of them: fewer where nobody waits for
 * them, since a caller that comes then waits for the batch that is under way.
 */
export const BATCH = { limit: 32, maxChars: 16_384, maxCharsAnew: 2048 };

/** Several batches, while so many wait that nobody waits for the end of them. */
const BATCHES: EmbeddingBatch = { ...BATCH, limit: 4 * BATCH.limit, maxChars: 4 * BATCH.maxChars };

const NEWEST: EmbeddingBatch = { ...BATCH, newest: true };

/** How often it is the turn of the newest: of five times. */
const TURNS = 5;

/**
 * Returns the next batch while many memories wait: the oldest, and now and then the newest, so that what is stored
 * now, in whatever namespace, is found by meaning soon, though a long history waits for hours.
 *
 * @param time how often something was taken before
 */
export function batchOfMany(time: number): EmbeddingBatch {
  return time % TURNS === TURNS - 1 ? NEWEST : BATCHES;
}

/** Memories in batches, in their order. */
export function* splitIntoBatches(memories: readonly PendingEmbedding[]): Iterable<PendingEmbedding[]> {
  let batch: PendingEmbedding[] = [];
  let chars = 0;
  for (const memory of memories) {
    const isFull = batch.length === BATCH.limit || chars + memory.content.length > BATCH.maxChars;
    if (isFull && batch.length > 0) {
      yield batch;
      [batch, chars] = [[], 0];
    }
    batch.push(memory);
    chars += memory.content.length;
  }
  if (batch.length > 0) yield batch;
}

/** How often a batch is tried whole while the model, asked for something else, works. */
const TRIES = 3;

/** Any text that every model can embed, to tell a text that cannot be embedded from a model that does not work. */
const PROBE = 'memory';

/** Fails as the model fails. */
export async function probe(embedder: Embedder): Promise<void> {
  await embedder.embed([PROBE], 'memory');
}

/** Makes the vectors of batches of memories. */
export class BatchEmbedding {
  readonly #tellOfText: (error: unknown) => void;
  readonly #closing: AbortSignal;
  /** Times in a row that a batch failed though the model works. */
  #failures = 0;
  #tookMs = 0;

  /**
   * @param tellOfText is told why a text is given no vectors
   * @param closing once it is aborted, failures say nothing of texts
   */
  constructor(tellOfText: (error: unknown) => void, closing: AbortSignal) {
    this.#tellOfText = tellOfText;
    this.#closing = closing;
  }

  /** How long the last batch took. */
  get tookMs(): number {
    return this.#tookMs;
  }

  /** The vectors of each memory, none of one whose text cannot be embedded; rejects as the model fails. */
  async getVectors(embedder: Embedder, memories: readonly PendingEmbedding[]): Promise<MemoryVectors[]> {
    const startedAt = performance.now();
    const vectors = await this.#together(embedder, memories);
    this.#failures = 0;
    this.#tookMs = performance.now() - startedAt;
    return vectors;
  }

  async #together(embedder: Embedder, memories: readonly PendingEmbedding[]): Promise<MemoryVectors[]> {
    try {
      const contents = memories.map((memory) => memory.content);
      const embeddings = await embedder.embed(contents, 'memory');
      return memories.map(({ ordinal, revision }, i) => ({ ordinal, revision, ...(embeddings[i] as Embedding) }));
    } catch (error) {
      if (this.#closing.aborted) throw error;
      // A model elsewhere is away now and then; a batch that fails whenever it is back holds a text that is to blame.
      if (error instanceof EmbedderUnavailable && ++this.#failures < TRIES) throw error;
      return await this.#oneByOne(embedder, memories);
    }
  }

  // A text that cannot be embedded must not keep the others waiting: it stays found by its words, and that is said.
  async #oneByOne(embedder: Embedder, memories: readonly PendingEmbedding[]): Promise<MemoryVectors[]> {
    const embedded: MemoryVectors[] = [];
    for (const { ordinal, revision, content } of memories) {
      try {
        const [embedding] = await embedder.embed([content], 'memory');
        embedded.push({ ordinal, revision, ...(embedding as Embedding) });
      } catch (error) {
        await probe(embedder);
        embedded.push({ ordinal, revision, vectors: [] });
        this.#tellOfText(error);
      }
    }
    return embedded;
  }
}
