import type { Telemetry } from '../../ports/runtime.ts';

/** Records of progress between the first and the last one, at most. */
const RECORDS = 10;

/** Tells of memories that are embedded anew, since the model or the layout of vectors has changed: that it begins, how far it is, and its end. */
export class Reembedding {
  readonly #telemetry: Telemetry;
  readonly #model: string;
  readonly #total: number;
  readonly #startedAt = performance.now();
  #embedded = 0;
  #told = 0;

  /** @param total memories that had vectors */
  constructor(telemetry: Telemetry, model: string, total: number) {
    this.#telemetry = telemetry;
    this.#model = model;
    this.#total = total;
    this.#report('reembedding_started', { memories: total });
  }

  /** So many more memories have their vectors. */
  advance(memories: number): void {
    this.#embedded += memories;
    const reached = Math.floor((this.#embedded / this.#total) * RECORDS);
    if (reached <= this.#told || reached >= RECORDS) return;
    this.#told = reached;
    this.#report('reembedding_advanced', { ...this.#facts(), memories: this.#total });
  }

  /** None is left: embedded here, by another process, or forgotten meanwhile. */
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
