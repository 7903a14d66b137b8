/** Why a text is embedded: models may treat the two apart, and a waiting query goes before waiting memories. */
export type EmbedPurpose = 'query' | 'memory';

/** What a model makes of a text. */
export interface Embedding {
  /** Unit vectors, one for each part of a memory, at most one for a query; none of a text of which the model knows nothing. */
  vectors: Float32Array[];
  /**
   * For each vector the states of the tokens that tell what its part is about, `STATE_SIZE` signed bytes each, one after the
   * other; absent where the model tells none.
   */
  states?: Int8Array[];
}

/**
 * Texts to unit vectors. A text longer than the model's window gives several vectors, one for each part, so that
 * nothing of it is cut off; a vector depends on its text alone.
 */
export interface Embedder {
  /** Names the model and everything else that a vector depends on: vectors compare only under equal ids. */
  readonly modelId: string;
  /** Length of every vector. */
  readonly dimensions: number;
  /** Set if the model knows no other language than English: vectors of other texts are near each other for no reason. */
  readonly onlyEnglish?: boolean;
  /** Most texts that one call may bring. */
  readonly largestBatch: number;
  /**
   * Returns an embedding for each text, in the order of the texts.
   *
   * Rejects with RangeError for more texts than `largestBatch`, with MemoryError UNAVAILABLE when too many calls wait or
   * after closing, with EmbedderUnavailable when the model cannot be asked now, and with any other error when it fails,
   * be it because of these texts.
   */
  embed(texts: readonly string[], purpose: EmbedPurpose): Promise<Embedding[]>;
  /** Frees threads and memory; calls still waiting are rejected. */
  close(): Promise<void>;
}

/** The options that an embedder is opened with, by their names in `EngineSettings`. */
export type EmbedderOption =
  | 'embedder'
  | 'embeddingUrl'
  | 'embeddingApiKey'
  | 'embeddingQueryPrefix'
  | 'embeddingPassagePrefix'
  | 'embeddingPooling';

/**
 * A model cannot be opened or asked now, whatever the texts. The message is half a sentence for whoever operates the
 * service and, like the cause's, holds no secret.
 */
export class EmbedderUnavailable extends Error {
  override readonly name = 'EmbedderUnavailable';
  /** The option to look at, where one is likely to be wrong. */
  readonly option: EmbedderOption | undefined;

  constructor(message: string, { option, cause }: { option?: EmbedderOption; cause?: unknown } = {}) {
    super(message, { cause });
    this.option = option;
  }
}

/**
 * Opens an embedder. Rejects with EmbedderUnavailable, or any other error, when that fails now; it may be tried again.
 *
 * @param signal gives up opening when it is aborted
 */
export type OpenEmbedder = (signal: AbortSignal) => Promise<Embedder>;
