import type { PendingEmbedding } from '../../ports/storage-vectors.ts';

/**
 * Memories that are embedded and kept together, and about how many characters of them: fewer where nobody waits for
 * them, since whoever then comes waits for the batch that is under way.
 */
export const BATCH = { limit: 32, maxChars: 16_384, maxCharsAnew: 2048 };

/** Several batches, while so many wait that nobody waits for the end of them. */
export const BATCHES = { ...BATCH, limit: 4 * BATCH.limit, maxChars: 4 * BATCH.maxChars };

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
