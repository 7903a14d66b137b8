/**
 * Maximum time that a store waits for the vectors of its memories. A model in this process needs milliseconds, or
 * seconds for a book; a remote model may not respond.
 */
const MAX_WAIT_MS = 5000;

/** The stores that wait for the vectors of their memories, by ordinal. */
export class WaitingStores {
  readonly #released = new Map<number, (() => void)[]>();

  /** The ordinals that have not been released, including ordinals whose wait has timed out. */
  get ordinals(): number[] {
    return [...this.#released.keys()];
  }

  /** Resolves when the ordinal is released, or after 5 seconds. */
  async wait(ordinal: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, MAX_WAIT_MS);
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
