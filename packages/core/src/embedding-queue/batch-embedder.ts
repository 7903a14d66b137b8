import { type Embedder, EmbedderUnavailable, type Embedding } from '../ports/embedder.ts';
import type { EmbeddingBatch, MemoryVectors, PendingEmbedding } from '../ports/storage-vectors.ts';

/**
 * Maximum memories per batch, and approximate maximum characters. Batches of re-embedded memories are smaller, since a
 * store or a query waits for the current batch.
 */
export const BATCH = { limit: 32, maxChars: 16_384, maxReembeddingChars: 2048 };

/** Limits of four times the usual size, for reading a backlog so large that no caller waits for its vectors. */
const BACKLOG_BATCH: EmbeddingBatch = { ...BATCH, limit: 4 * BATCH.limit, maxChars: 4 * BATCH.maxChars };

const NEWEST_BATCH: EmbeddingBatch = { ...BATCH, newest: true };

/** One in `NEWEST_EVERY` batches has the newest memories instead of the oldest. */
const NEWEST_EVERY = 5;

/**
 * Returns the limits of the next batch of a large backlog. Every fifth batch has the newest memories, so that new
 * memories of any namespace soon have vectors, even if a long history takes hours.
 *
 * @param count number of earlier batches of the backlog
 */
export function getBacklogBatch(count: number): EmbeddingBatch {
  return count % NEWEST_EVERY === NEWEST_EVERY - 1 ? NEWEST_BATCH : BACKLOG_BATCH;
}

/** Splits memories into batches, in their order. */
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

/**
 * Number of consecutive EmbedderUnavailable failures after which the texts of a batch are embedded one by one. After
 * any other error, the texts are embedded one by one at once.
 */
const MAX_ATTEMPTS = 3;

/**
 * A text that every model can embed. If embedding the probe fails, the model does not work; otherwise the failed text
 * cannot be embedded.
 */
const PROBE = 'memory';

/**
 * Maximum parts of a text per call of the model. One request to a remote model can have more parts, but a short text
 * may wait for the request.
 */
const MAX_PARTS = 8;

/**
 * Characters that are skipped if the model rejects the next part of a text. No part is longer; see `WINDOW_LENGTH` of
 * `@memoryd/minilm`.
 */
const SKIPPED_CHARS = 4096;

/** Embeds a test text; rejects if the model does not work. */
export async function probe(embedder: Embedder): Promise<void> {
  await embedder.embed([PROBE], 'memory');
}

/** Computes the vectors of batches of memories. */
export class BatchEmbedder {
  readonly #onTextFailure: (error: unknown) => void;
  readonly #closing: AbortSignal;
  /** Consecutive EmbedderUnavailable failures. */
  #failures = 0;
  #tookMs = 0;
  /** The last memory with a part that could not be embedded. Further parts are not reported. */
  #failedOrdinal: number | undefined;

  /**
   * @param onTextFailure called with the error of a text, or of a part of a text, that gets no vectors
   * @param closing after its abort, a failed batch rejects and `onTextFailure` is not called
   */
  constructor(onTextFailure: (error: unknown) => void, closing: AbortSignal) {
    this.#onTextFailure = onTextFailure;
    this.#closing = closing;
  }

  /** Duration of the last successful batch in ms; 0 before the first. */
  get tookMs(): number {
    return this.#tookMs;
  }

  /**
   * Returns the vectors of the next parts of each memory, at most `MAX_PARTS`; an empty list for a part that cannot be
   * embedded. Rejects if the model does not work.
   */
  async getVectors(embedder: Embedder, memories: readonly PendingEmbedding[]): Promise<MemoryVectors[]> {
    const startedAt = performance.now();
    const vectors = await this.#embedTogether(embedder, memories);
    this.#failures = 0;
    this.#tookMs = performance.now() - startedAt;
    return vectors;
  }

  async #embedTogether(embedder: Embedder, memories: readonly PendingEmbedding[]): Promise<MemoryVectors[]> {
    try {
      const embeddings = await embedder.embed(memories.map(getRest), 'memory', MAX_PARTS);
      return memories.map((memory, i) => toVectors(memory, embeddings[i] as Embedding));
    } catch (error) {
      if (this.#closing.aborted) throw error;
      // A remote model is unavailable now and then. If a batch fails each time the model is back, one of its texts is
      // the cause.
      if (error instanceof EmbedderUnavailable && ++this.#failures < MAX_ATTEMPTS) throw error;
      return await this.#embedOneByOne(embedder, memories);
    }
  }

  // A part that cannot be embedded must not block the other parts and texts. The failure is reported, and recall finds
  // the part by its words only.
  async #embedOneByOne(embedder: Embedder, memories: readonly PendingEmbedding[]): Promise<MemoryVectors[]> {
    const embedded: MemoryVectors[] = [];
    for (const memory of memories) {
      const rest = getRest(memory);
      try {
        const [embedding] = await embedder.embed([rest], 'memory', 1);
        embedded.push(toVectors(memory, embedding as Embedding));
      } catch (error) {
        await probe(embedder);
        const skipped = rest.length > SKIPPED_CHARS ? { next: SKIPPED_CHARS } : {};
        embedded.push(toVectors(memory, { vectors: [], ...skipped }));
        if (memory.ordinal !== this.#failedOrdinal) this.#onTextFailure(error);
        this.#failedOrdinal = memory.ordinal;
      }
    }
    return embedded;
  }
}

/** Returns the part of a text that has no vectors. */
function getRest({ content, from = 0 }: PendingEmbedding): string {
  return content.slice(from);
}

/** Returns the vectors of a memory for the embedding of the rest of its text. */
function toVectors({ ordinal, revision, from = 0 }: PendingEmbedding, embedding: Embedding): MemoryVectors {
  const { next } = embedding;
  return {
    ...embedding,
    ordinal,
    revision,
    ...(from > 0 && { from }),
    ...(next !== undefined && { next: from + next }),
  };
}

/** Returns the vectors of two consecutive pieces of a text. */
export function joinPieces(piece: MemoryVectors, following: MemoryVectors): MemoryVectors {
  const { next: _, ...first } = piece;
  const { next, vectors, states } = following;
  return {
    ...first,
    vectors: [...piece.vectors, ...vectors],
    ...((piece.states || states) && { states: [...(piece.states ?? []), ...(states ?? [])] }),
    ...(next !== undefined && { next }),
  };
}
