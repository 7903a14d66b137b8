import type { Embedding } from './embedder.ts';

/** A memory whose current text has no vectors of the model in use. */
export interface PendingEmbedding {
  ordinal: number;
  /** Revision of the text. */
  revision: number;
  content: string;
}

/** Limits of a batch. The first text is returned even if it exceeds the limit of characters. */
export interface EmbeddingBatch {
  limit: number;
  maxChars: number;
  /** Limit of characters for texts to re-embed, instead of `maxChars`. */
  maxReembeddingChars: number;
  /** If true, the batch has the newest texts, newest first; otherwise the oldest, oldest first. */
  newest?: true;
}

/**
 * A batch of pending texts, oldest first unless the newest were requested.
 *
 * `isInUse`: false if another model is in use; then the batch is empty. `reembed`: true if `waiting` is 0. Only then
 * does the batch have texts to re-embed and texts that consolidation wrote. `waiting`: the number of pending texts that
 * clients stored or changed and that never had vectors, counted up to 1,000.
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
   * Sets the model in use, so that every memory without vectors of the model is pending. Returns the number of texts to
   * re-embed, including texts that consolidation wrote. Search ignores vectors of other models. After an abort by the
   * signal, the model is in use, and `pendingEmbeddings` or the next call completes the work.
   */
  useModel(modelId: string, signal?: AbortSignal): Promise<number>;
  /**
   * Returns pending memories that no other process has claimed. Texts that clients wrote and that never had vectors
   * come first, then all other texts. Returns an empty batch if another model is in use.
   */
  pendingEmbeddings(modelId: string, batch: EmbeddingBatch): Promise<PendingEmbeddings>;
  /**
   * Stores vectors. Skips a text that was changed or deleted meanwhile, and all texts if another model is in use. A
   * memory with an empty list of vectors is no longer pending. Returns the ordinals of the memories that were written.
   */
  putVectors(modelId: string, vectors: MemoryVectors[]): Promise<number[]>;
}
