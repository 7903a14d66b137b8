import type { EmbeddingBatch, PendingEmbedding } from '../../ports/storage-vectors.ts';

/**
 * Memories that are embedded and kept together, and about how many characters of them: fewer where nobody waits for
 * them, since whoever then comes waits for the batch that is under way.
 */
export const BATCH = { limit: 32, maxChars: 16_384, maxCharsAnew: 2048 };

/** Several batches, while so many wait that nobody waits for the end of them. */
const BATCHES: EmbeddingBatch = { ...BATCH, limit: 4 * BATCH.limit, maxChars: 4 * BATCH.maxChars };

const NEWEST: EmbeddingBatch = { ...BATCH, newest: true };

/** How often it is the turn of the newest: of five times. */
const TURNS = 5;

/**
 * What is taken time after time while many memories wait: the oldest, and now and then the newest, so that what is stored
 * now, in whatever namespace, is found by meaning soon, though a long history waits for hours.
 *
 * @param time how often something was taken before
 */
export function batchOfMany(time: number): EmbeddingBatch {
  return time % TURNS === TURNS - 1 ? NEWEST : BATCHES;
}

/** Memories in batches, in their order. */
export function* batchesOf(memories: readonly PendingEmbedding[]): Iterable<PendingEmbedding[]> {
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
