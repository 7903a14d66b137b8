/** How soon a purge that a reader held up is tried again. */
const RETRY_MS = 200;

/**
 * Drives the bytes of forgotten texts out of the database file. Purges that are asked for while one runs share the
 * next; one that a reader holds up is tried again until it is done.
 */
export class Purger {
  readonly #purge: () => Promise<boolean>;
  #running: Promise<boolean> | undefined;
  #next: Promise<boolean> | undefined;
  #retry: NodeJS.Timeout | undefined;

  constructor(purge: () => Promise<boolean>) {
    this.#purge = purge;
  }

  /** Whether a purge that began after this call is done; where not, it is done as soon as no reader is in the way. */
  request(): Promise<boolean> {
    if (!this.#running) return this.#start();
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      return this.#start();
    });
    return this.#next;
  }

  /** Ends the trying again; closing the database does the same work. */
  stop(): void {
    clearTimeout(this.#retry);
  }

  #start(): Promise<boolean> {
    clearTimeout(this.#retry);
    // A purge that fails leaves the commit before it as it is: the forgetting has happened, its bytes wait.
    this.#running = this.#purge()
      .catch(() => false)
      .then((done) => {
        this.#running = undefined;
        if (!done) this.#retry = setTimeout(() => void this.request(), RETRY_MS);
        return done;
      });
    return this.#running;
  }
}
