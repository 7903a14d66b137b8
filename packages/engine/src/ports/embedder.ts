/** Why a text is embedded: models may treat the two apart, and a waiting query goes before waiting memories. */
export type EmbedPurpose = 'query' | 'memory';

/**
 * Texts to unit vectors. A text longer than the model's window gives several vectors, one for each part, so that
 * nothing of it is cut off; a vector depends on its text alone.
 */
export interface Embedder {
  /** Names the model and everything else that a vector depends on: vectors compare only under equal ids. */
  readonly modelId: string;
  /** Length of every vector. */
  readonly dimensions: number;
  /** Most texts that one call may bring. */
  readonly largestBatch: number;
  /**
   * One list of vectors for each text, in the order of the texts; for the purpose `query` of one vector. The list is
   * empty for a text of which the model knows nothing. Each vector has unit length.
   */
  embed(texts: readonly string[], purpose: EmbedPurpose): Promise<Float32Array[][]>;
  /** Frees threads and memory; calls still waiting are rejected. */
  close(): Promise<void>;
}
