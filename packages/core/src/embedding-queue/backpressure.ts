/** Maximum pause as a multiple of the working time, so that background work has at least a quarter of the time. */
const PAUSE_FACTOR = 3;

const MAX_PAUSE_MS = 1000;

/** Pauses background work while prioritized work runs. */
export class Backpressure {
  #activeCount = 0;
  readonly #paused = new Set<() => void>();

  /** Tracks prioritized work. A pause ends early when all prioritized work has ended. */
  track(work: Promise<unknown>): void {
    this.#activeCount++;
    const onEnd = () => {
      this.#activeCount--;
      if (this.#activeCount === 0) for (const resume of this.#paused) resume();
    };
    work.then(onEnd, onEnd);
  }

  /** Resolves when no prioritized work is active. Takes at most three times `workedMs`, and at most one second. */
  async pause(workedMs: number): Promise<void> {
    if (this.#activeCount === 0) return;
    await new Promise<void>((resolve) => {
      const resume = () => {
        clearTimeout(timer);
        this.#paused.delete(resume);
        resolve();
      };
      const timer = setTimeout(resume, Math.min(PAUSE_FACTOR * workedMs, MAX_PAUSE_MS));
      this.#paused.add(resume);
    });
  }
}
