/** The stages of a recall, in their order. */
const STAGES = ['embed', 'words', 'vectors', 'fuse', 'read'] as const;
type Stage = (typeof STAGES)[number];

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
    const stages = STAGES.map((stage) => [`${stage}_ms`, rounded(this.#ms[stage])] as const);
    return { latency_ms: rounded(performance.now() - this.#startedAt), ...Object.fromEntries(stages) };
  }
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
