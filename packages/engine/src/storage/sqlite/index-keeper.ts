import { setTimeout as delay } from 'node:timers/promises';
import type { Thread } from './thread.ts';

/**
 * How long it rests when the index is as the file was: what many writers commit meanwhile is taken in at once. A search
 * that comes in between takes it in itself, less than a millisecond's work.
 */
const REST_MS = 10;

/**
 * Keeps the index of the search thread near the file between searches, so that none has to take in at once what was
 * written since the one before. What it cannot do, the next search does or reports.
 */
export class IndexKeeper {
  readonly #searcher: Thread;
  readonly #stopping = new AbortController();
  #following: Promise<void> | undefined;
  #written = false;

  constructor(searcher: Thread) {
    this.#searcher = searcher;
  }

  /** To be called when something may have been written. */
  rouse(): void {
    this.#written = true;
    this.#following ??= this.#follow();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#following;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stopping;
    try {
      while (this.#written && !signal.aborted) {
        this.#written = false;
        if (await this.#searcher.call<boolean>('follow')) await delay(REST_MS, undefined, { signal });
        else this.#written = true;
      }
    } catch {
      // It is stopped, or the file is not usable now, or too many searches wait, which bring the index up to it themselves.
    } finally {
      // At once, so that no call finds it at work that has looked for the last time.
      this.#following = undefined;
    }
  }
}
