import type { CosineScales } from '@memoryd/search';
import type { Embedding } from './embedder.ts';

/** Limits of the queue of texts without vectors. */
export const EMBEDDING_LIMITS = {
  /**
   * Length of a short text. Longer texts are embedded piece by piece in a queue of their own, so that short texts do not
   * wait for them. A database may measure the length in UTF-16 units or in bytes of UTF-8.
   */
  shortText: 4096,
  /** Users in a batch of pending texts. */
  batchUsers: 32,
} as const;

/** A memory whose current text has no vectors of the model in use, or only those of its beginning. */
export interface PendingEmbedding {
  ordinal: number;
  /** Revision of the text. */
  revision: number;
  content: string;
  /** Offset at which the part of the text without vectors begins, in UTF-16 units; 0 if omitted. */
  from?: number;
}

/** A namespace and a user of the namespace, or '' for memories without a user. */
export interface NamespaceUser {
  namespace: string;
  userId: string;
}

/** Limits of a batch. The first text is returned even if it exceeds the limit of characters. */
export interface EmbeddingBatch {
  limit: number;
  maxChars: number;
  /** Limit of characters for texts to re-embed, instead of `maxChars`. */
  maxReembeddingChars: number;
  /** If true, the batch has the newest texts of each user, newest first; otherwise the oldest, oldest first. */
  newest?: true;
  /**
   * If true, the batch has long texts: first texts without any vector, then texts with vectors of their beginning.
   * Otherwise the batch has short texts.
   */
  long?: true;
  /** `PendingEmbeddings.after` of the previous batch, so that all users take turns. */
  after?: NamespaceUser | undefined;
  /** Ordinals to return in `PendingEmbeddings.settled` if they need not be awaited any longer. */
  awaited?: readonly number[];
}

/**
 * A batch of pending texts. At most `EMBEDDING_LIMITS.batchUsers` users of any namespace take turns within the batch, text by text.
 * The texts of a user are in order of arrival, or in reverse order if the newest were requested.
 *
 * `isInUse`: false if another model is in use; then the batch is empty. `reembed`: true if the requested queue, of short
 * or of long texts, has no text that a client stored or changed and that never had vectors. Only then does the batch
 * have texts to re-embed and texts that consolidation wrote. `waiting`: the number of short texts that clients stored or
 * changed and that never had vectors, counted up to 1,000. `after`: the last user of the batch; absent if the batch is
 * empty. `settled`: those of `EmbeddingBatch.awaited` that are not pending or have vectors of their beginning.
 */
export interface PendingEmbeddings {
  isInUse: boolean;
  memories: PendingEmbedding[];
  reembed: boolean;
  waiting: number;
  after?: NamespaceUser;
  settled: number[];
}

/**
 * The embedding of a memory, or of the piece of its text from the offset `from` (0 if omitted) to the offset `next` (the
 * end if omitted), made from the text with this revision.
 */
export interface MemoryVectors extends Embedding {
  ordinal: number;
  revision: number;
  from?: number;
}

/**
 * The first vectors of some memories, of the model in use. `vectors`: the `Int8Vector` of each ordinal, one after the
 * other. A memory without vectors is left out.
 */
export interface FirstVectors {
  modelId: string;
  ordinals: number[];
  vectors: Uint8Array;
}

/** Stores the vectors of one model, and lists the memories that lack vectors. */
export interface VectorStorage {
  /**
   * Sets the model in use, so that every memory without vectors of the model is pending. Returns the number of texts to
   * re-embed, including texts that consolidation wrote. Search ignores vectors of other models. After an abort by the
   * signal, the model is in use, and `pendingEmbeddings` or the next call completes the work.
   */
  useModel(modelId: string, signal?: AbortSignal): Promise<number>;
  /** Returns the ranges of the cosines of the model in use; undefined for the bundled model, and until they were kept. */
  cosineScales(): Promise<CosineScales | undefined>;
  /** Keeps the ranges of a model's cosines with the model. */
  keepCosineScales(modelId: string, scales: CosineScales): Promise<void>;
  /**
   * Returns pending memories that no other process has claimed. Texts that clients wrote and that never had vectors
   * come first, then all other texts. Returns an empty batch if another model is in use.
   */
  pendingEmbeddings(modelId: string, batch: EmbeddingBatch): Promise<PendingEmbeddings>;
  /** Returns the first vectors of memories; undefined before a model was used. */
  firstVectors(namespace: string, ordinals: readonly number[]): Promise<FirstVectors | undefined>;
  /**
   * Stores vectors. Skips a text that was changed or deleted meanwhile, a piece that does not begin where the vectors of
   * its memory end, and all texts if another model is in use. A memory is no longer pending after its last piece, even
   * without any vector. Before that, the memory is found by the pieces that were written. Returns the ordinals of the
   * memories that were written.
   */
  putVectors(modelId: string, vectors: MemoryVectors[]): Promise<number[]>;
}
