import type { ShrinkStep } from './write-thread.ts';

/** How soon the end of shrinking is tried again where a reader was in the way. */
const RETRY_MS = 200;

/**
 * Gives the room of what was deleted back to the disk, in small steps between which other writers get their turn. What
 * fails is left to the next request: the room is not lost, later memories take it.
 */
export class Shrinker {
  readonly #step: (begun: boolean) => Promise<ShrinkStep>;
  #running: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #stopped = false;

  /** @param step whether shrinking has begun; the first step decides whether that is worth it */
  constructor(step: (begun: boolean) => Promise<ShrinkStep>) {
    this.#step = step;
  }

  /** Shrinks the file if enough of it is free and that is not under way. */
  request(): void {
    this.#start(false);
  }

  /** Waits for the step under way and begins no other. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#retry);
    await this.#running;
  }

  #start(begun: boolean): void {
    if (this.#running || this.#stopped) return;
    clearTimeout(this.#retry);
    this.#running = this.#run(begun)
      .catch(() => false)
      .then((heldUp) => {
        this.#running = undefined;
        if (heldUp && !this.#stopped) this.#retry = setTimeout(() => this.#start(true), RETRY_MS);
      });
  }

  /** Answers whether a reader keeps the file from being cut. */
  async #run(begun: boolean): Promise<boolean> {
    let step = await this.#step(begun);
    while (step === 'more' && !this.#stopped) step = await this.#step(true);
    return step === 'held-up';
  }
}
