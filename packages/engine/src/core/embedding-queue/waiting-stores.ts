/** Longest that a store waits: a model in the process takes milliseconds, or seconds for a book; one elsewhere may not answer. */
const WAITS_MS = 5000;

/** The stores that wait until their memories have vectors, by the ordinals of these. */
export class WaitingStores {
  readonly #released = new Map<number, (() => void)[]>();

  /** The ordinals that somebody waits for now. */
  get ordinals(): number[] {
    return [...this.#released.keys()];
  }

  /** Resolves when the ordinal is released, and after five seconds at most. */
  async wait(ordinal: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, WAITS_MS);
      const released = this.#released.get(ordinal) ?? [];
      released.push(() => {
        clearTimeout(timer);
        resolve();
      });
      this.#released.set(ordinal, released);
    });
  }

  release(ordinals: Iterable<number>): void {
    for (const ordinal of ordinals) {
      for (const released of this.#released.get(ordinal) ?? []) released();
      this.#released.delete(ordinal);
    }
  }

  releaseAll(): void {
    this.release(this.ordinals);
  }
}
