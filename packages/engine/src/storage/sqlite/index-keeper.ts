import type { Thread } from './thread.ts';

/**
 * Keeps the index of the search thread near the file between searches, so that none has to take in at once what was
 * written since the one before. What it cannot do, the next search does or reports.
 */
export class IndexKeeper {
  readonly #searcher: Thread;
  #following: Promise<void> | undefined;
  #written = false;
  #stopped = false;

  constructor(searcher: Thread) {
    this.#searcher = searcher;
  }

  /** To be called when something may have been written. */
  rouse(): void {
    this.#written = true;
    this.#following ??= this.#follow().finally(() => {
      this.#following = undefined;
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#following;
  }

  async #follow(): Promise<void> {
    while (this.#written && !this.#stopped) {
      this.#written = false;
      try {
        if (!(await this.#searcher.call<boolean>('follow'))) this.#written = true;
      } catch {
        // The file is not usable now, or too many searches wait: they bring the index up to it themselves.
        return;
      }
    }
  }
}
