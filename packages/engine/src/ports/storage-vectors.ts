import type { Embedding } from './embedder.ts';

/** A memory whose text has no vectors yet. */
export interface PendingEmbedding {
  ordinal: number;
  /** Which of the memory's texts this is. */
  revision: number;
  content: string;
}

/** How many are wanted at most, and of how many characters, those of a first text that is longer aside. */
export interface EmbeddingBatch {
  limit: number;
  maxChars: number;
  /** Instead of `maxChars`, of those that wait behind others. */
  maxCharsAnew: number;
  /** True: the newest are wanted, newest first. Otherwise the oldest. */
  newest?: true;
}

/**
 * Some that wait, in order of arrival unless the newest are wanted. `isInUse`: the model is the one in use; none wait for another. `anew`: the texts
 * of these have had vectors, or consolidation wrote them; such ones come last, when no new text waits any more. `waiting`:
 * how many others wait, counted up to 1,000.
 */
export interface PendingEmbeddings {
  isInUse: boolean;
  memories: PendingEmbedding[];
  anew: boolean;
  waiting: number;
}

/** What a model made of a memory, from the text that has this revision. */
export interface MemoryVectors extends Embedding {
  ordinal: number;
  revision: number;
}

/** Keeps the vectors of one model, and tells which memories wait for theirs. */
export interface VectorStorage {
  /**
   * Makes this the model whose vectors every memory is to have; those without wait for them from now on. Answers how many
   * of them had vectors, of another model or layout, which are compared with nothing any more. Where that takes long, the
   * signal gives it up: the model is in use then, and the rest is done when memories are asked for, or the next time.
   */
  useModel(modelId: string, signal?: AbortSignal): Promise<number>;
  /**
   * Memories that wait for vectors of the model in use, at least one where any waits: first those whose texts clients
   * wrote and which never had any, then the others; none where this is not the model in use.
   */
  pendingEmbeddings(modelId: string, batch: EmbeddingBatch): Promise<PendingEmbeddings>;
  /**
   * Writes vectors, except of a text that has changed or gone meanwhile, or where another model is in use. A memory given
   * none is pending no longer. Returns the ordinals of the memories that it wrote.
   */
  putVectors(modelId: string, vectors: MemoryVectors[]): Promise<number[]>;
}
