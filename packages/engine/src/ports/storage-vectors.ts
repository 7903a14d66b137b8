import type { Embedding } from './embedder.ts';

/** A memory whose current text has no vectors yet. */
export interface PendingEmbedding {
  ordinal: number;
  /** Revision of the text. */
  revision: number;
  content: string;
}

/** Limits of a batch. A first text that exceeds the limit of characters is returned all the same. */
export interface EmbeddingBatch {
  limit: number;
  maxChars: number;
  /** Limit of characters for texts to re-embed, instead of `maxChars`. */
  maxReembeddingChars: number;
  /** True: the newest texts, newest first. Otherwise the oldest. */
  newest?: true;
}

/**
 * A batch of pending texts, in order of arrival unless the newest were requested.
 *
 * `isInUse`: false if another model is in use; the batch is empty then. `reembed`: the texts are to be re-embedded, or
 * were written by consolidation. Such texts come last, once no new text is pending. `waiting`: the number of other
 * pending texts, counted up to 1,000.
 */
export interface PendingEmbeddings {
  isInUse: boolean;
  memories: PendingEmbedding[];
  reembed: boolean;
  waiting: number;
}

/** The embedding of a memory, made from the text with this revision. */
export interface MemoryVectors extends Embedding {
  ordinal: number;
  revision: number;
}

/** Stores the vectors of one model, and lists the memories that lack vectors. */
export interface VectorStorage {
  /**
   * Makes this the model in use: from now on, every memory without its vectors is pending. Returns the number of
   * pending memories that have vectors of another model or layout; those vectors are no longer compared. If this takes
   * long, the signal aborts it: the model is in use then, and the rest is done by `pendingEmbeddings` or the next call.
   */
  useModel(modelId: string, signal?: AbortSignal): Promise<number>;
  /**
   * Returns pending memories, at least one if any is pending. Texts that clients wrote and that never had vectors come
   * first, then the others. Returns none if this is not the model in use.
   */
  pendingEmbeddings(modelId: string, batch: EmbeddingBatch): Promise<PendingEmbeddings>;
  /**
   * Stores vectors. Skips a text that was changed or deleted meanwhile, and all texts if another model is in use. A
   * memory with an empty list of vectors is no longer pending. Returns the ordinals of the memories that were written.
   */
  putVectors(modelId: string, vectors: MemoryVectors[]): Promise<number[]>;
}
