import type { Telemetry } from '../ports/runtime.ts';

/** Number of parts into which the total is divided. The progress is reported after each part except the last. */
const MAX_REPORTS = 10;

/** Reports start, progress and end of re-embedding after a change of the model or of the vector layout. */
export class ReembeddingProgress {
  readonly #telemetry: Telemetry;
  readonly #model: string;
  readonly #total: number;
  readonly #startedAt = performance.now();
  #embedded = 0;
  #reported = 0;

  /** @param total number of memories that have vectors of another model or layout */
  constructor(telemetry: Telemetry, model: string, total: number) {
    this.#telemetry = telemetry;
    this.#model = model;
    this.#total = total;
    this.#report('reembedding_started', { memories: total });
  }

  /**
   * Adds the number of newly embedded memories, and reports the progress if a further tenth of the total is reached.
   */
  advance(memories: number): void {
    this.#embedded += memories;
    const reached = Math.floor((this.#embedded / this.#total) * MAX_REPORTS);
    if (reached <= this.#reported || reached >= MAX_REPORTS) return;
    this.#reported = reached;
    this.#report('reembedding_advanced', { ...this.#facts(), memories: this.#total });
  }

  /** Reports the end: all memories are embedded, here or by another process, or forgotten. */
  end(): void {
    this.#report('reembedding_completed', this.#facts());
  }

  #facts(): Record<string, number> {
    const durationMs = performance.now() - this.#startedAt;
    return {
      embedded: this.#embedded,
      duration_ms: Math.round(durationMs),
      embedded_per_second: Math.round((this.#embedded / Math.max(durationMs, 1)) * 1000),
    };
  }

  #report(event: string, facts: Record<string, number>): void {
    this.#telemetry.report({
      level: 'info',
      component: 'embedding',
      event,
      facts: { model: this.#model, ...facts },
    });
  }
}
