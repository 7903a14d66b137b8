/** A model that reads a query and a text together, and scores whether the text answers the query. */
export interface Reranker {
  /**
   * Returns a score for each text, in the order of the texts, the highest for the best: probabilities from 0 to 1, or
   * logits.
   *
   * @param signal aborts the call
   * @throws RerankerUnavailable if the reranker fails, or the signal is aborted
   * @throws MemoryError UNAVAILABLE if the reranker is closed
   */
  score(query: string, texts: readonly string[], signal: AbortSignal): Promise<number[]>;
  /** Rejects pending calls. */
  close(): void;
}

/** Names of the options in `EngineSettings` that configure a reranker. */
export type RerankerOption = 'rerankUrl' | 'rerankModel' | 'rerankApiKey' | 'rerankForm';

/**
 * A reranker cannot score texts at the moment. The message is a phrase for operators. Neither the message nor the
 * cause's message contains a secret or the text of a memory.
 */
export class RerankerUnavailable extends Error {
  override readonly name = 'RerankerUnavailable';
  /** The option that is probably wrong, if any. */
  readonly option: RerankerOption | undefined;

  constructor(message: string, { option, cause }: { option?: RerankerOption; cause?: unknown } = {}) {
    super(message, { cause });
    this.option = option;
  }
}
