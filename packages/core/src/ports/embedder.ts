/**
 * The purpose of an embedding. Models may embed queries and memories differently, and pending queries are embedded
 * before pending memories.
 */
export type EmbedPurpose = 'query' | 'memory';

/** The embedding of one text. */
export interface Embedding {
  /**
   * Unit vectors: one for each part of a memory, at most one for a query. Empty if the model cannot represent the text,
   * for example because of its language.
   */
  vectors: Float32Array[];
  /**
   * For each vector, the states of the tokens that carry the topic of its part, concatenated: `STATE_SIZE` signed bytes
   * for each token. Absent if the model does not provide token states.
   */
  states?: Int8Array[];
  /** Offset at which the rest of the text begins, in UTF-16 units. Absent if the text was embedded to its end. */
  next?: number;
}

/**
 * Converts texts to unit vectors. A text that is longer than the model's window is split into parts with one vector
 * each, so that every part of the text is searchable. A vector depends only on its text, the model and the purpose, not
 * on the other texts of the call.
 */
export interface Embedder {
  /**
   * Identifies the model and everything else that a vector depends on. Vectors are comparable only if their model ids
   * are equal.
   */
  readonly modelId: string;
  /** Length of every vector. */
  readonly dimensions: number;
  /**
   * True if the model supports English only. With such a model, vectors of unrelated texts in other languages are close
   * to each other.
   */
  readonly onlyEnglish?: boolean;
  /**
   * True for vectors whose cosines have the range of the bundled model's, `WEIGHTS.cosines` of search. The range of all
   * other models is measured.
   */
  readonly hasUsualCosines?: boolean;
  /** Maximum number of texts in one call. */
  readonly maxBatchSize: number;
  /**
   * Returns an embedding for each text, in the order of the texts.
   *
   * With `maxParts`, only the first parts of each text are embedded. A call with the rest of the text, from `next` on,
   * continues with the same parts as a call with the whole text.
   *
   * @param maxParts maximum parts of each memory, at least 1; unlimited if omitted
   * @throws RangeError for more texts than `maxBatchSize`
   * @throws MemoryError UNAVAILABLE if too many calls wait, or after closing
   * @throws EmbedderUnavailable if the model cannot be used at the moment, regardless of the texts
   * @throws any other error if the model fails, possibly because of these texts
   */
  embed(texts: readonly string[], purpose: EmbedPurpose, maxParts?: number): Promise<Embedding[]>;
  /** Frees threads and memory, and rejects pending calls. */
  close(): Promise<void>;
}

/** Names of the options in `EngineSettings` that configure an embedder. */
export type EmbedderOption =
  | 'embedder'
  | 'embeddingUrl'
  | 'embeddingApiKey'
  | 'embeddingQueryPrefix'
  | 'embeddingPassagePrefix'
  | 'embeddingPooling';

/**
 * The model cannot be opened or used at the moment, regardless of the texts. The message is a phrase for operators.
 * Neither the message nor the cause's message contains a secret.
 */
export class EmbedderUnavailable extends Error {
  override readonly name = 'EmbedderUnavailable';
  /** The option that is probably wrong, if any. */
  readonly option: EmbedderOption | undefined;

  constructor(message: string, { option, cause }: { option?: EmbedderOption; cause?: unknown } = {}) {
    super(message, { cause });
    this.option = option;
  }
}

/**
 * Opens an embedder. Rejects with EmbedderUnavailable, or any other error, if opening fails; the caller may try again.
 *
 * @param signal aborts opening
 */
export type OpenEmbedder = (signal: AbortSignal) => Promise<Embedder>;
