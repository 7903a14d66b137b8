import type { PurgeStep } from './write-thread.ts';

/** How soon a purge that was held up is tried again. */
const RETRY_MS = 200;

/**
 * Drives the bytes of forgotten texts out of the database file. Purges that are asked for while one runs share the
 * next; one that is held up is tried again until it is done.
 */
export class Purger {
  readonly #step: (step?: PurgeStep) => Promise<PurgeStep>;
  readonly #onDone: () => void;
  #running: Promise<boolean> | undefined;
  #next: Promise<boolean> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #stopped = false;

  /**
   * @param step begins a purge, or goes on with one where the step before it stopped
   * @param onDone called after each purge that is done
   */
  constructor(step: (step?: PurgeStep) => Promise<PurgeStep>, onDone: () => void = () => {}) {
    this.#step = step;
    this.#onDone = onDone;
  }

  /** Whether a purge that began after this call is done; where not, it is done as soon as nothing holds it up. */
  request(): Promise<boolean> {
    if (!this.#running) return this.#start();
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      return this.#start();
    });
    return this.#next;
  }

  /** Waits for the purge under way and tries no more; what is left is noted in the file for the next to open it. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#retry);
    await (this.#next ?? this.#running);
  }

  #start(): Promise<boolean> {
    clearTimeout(this.#retry);
    // A purge that fails leaves the commit before it as it is: the forgetting has happened, its bytes wait.
    this.#running = this.#run()
      .catch(() => false)
      .then((done) => {
        this.#running = undefined;
        if (done) this.#onDone();
        else if (!this.#stopped) this.#retry = setTimeout(() => void this.request(), RETRY_MS);
        return done;
      });
    return this.#running;
  }

  async #run(): Promise<boolean> {
    let step = await this.#step();
    while (typeof step === 'object') step = await this.#step(step);
    return step === 'done';
  }
}
