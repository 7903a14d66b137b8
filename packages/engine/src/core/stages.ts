/** The stages of a recall, in their order. */
type Stage = 'embed' | 'words' | 'vectors' | 'fuse' | 'read';

/** How long each stage of one recall took. */
export class Stages {
  readonly #startedAt = performance.now();
  readonly #ms: Record<Stage, number> = { embed: 0, words: 0, vectors: 0, fuse: 0, read: 0 };
  #at = this.#startedAt;

  /** Ends a stage, which takes all the time since the end of the last. */
  end(stage: Stage): void {
    const now = performance.now();
    this.#ms[stage] += now - this.#at;
    this.#at = now;
  }

  /** Ends stages that were measured elsewhere; what else has passed since the last was waiting. */
  endAs(measured: Partial<Record<Stage, number>>): void {
    for (const [stage, ms] of Object.entries(measured)) this.#ms[stage as Stage] += ms;
    this.#at = performance.now();
  }

  /** For `query_completed`: `latency_ms` of the whole and of each stage. */
  facts(): Record<string, number> {
    const { embed, words, vectors, fuse, read } = this.#ms;
    return {
      latency_ms: rounded(performance.now() - this.#startedAt),
      embed_ms: rounded(embed),
      words_ms: rounded(words),
      vectors_ms: rounded(vectors),
      fuse_ms: rounded(fuse),
      read_ms: rounded(read),
    };
  }
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
