import type { Telemetry, TelemetryEvent } from '../../ports/telemetry.ts';
import type { PurgeStep } from './write-thread.ts';

/** How soon a purge that was held up is tried again, and one that failed, at first and after many failures. */
const RETRY_MS = 200;
const LONGEST_RETRY_MS = 10_000;

/** What a purger drives, and who hears of it. */
export interface PurgerParts {
  /** Begins a purge, or goes on with one where the step before it stopped. */
  step: (step?: PurgeStep) => Promise<PurgeStep>;
  /** Called after each purge that is done. */
  onDone?: () => void;
  telemetry?: Telemetry | undefined;
}

/**
 * Drives the bytes of forgotten texts out of the database file. Purges that are asked for while one runs share the
 * next; one that is held up or fails is tried again until it is done, and the first failure in a row is reported.
 */
export class Purger {
  readonly #parts: PurgerParts;
  #running: Promise<boolean> | undefined;
  #next: Promise<boolean> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #failures = 0;
  #stopped = false;

  constructor(parts: PurgerParts) {
    this.#parts = parts;
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
      .catch((error: unknown) => this.#failed(error))
      .then((done) => {
        this.#running = undefined;
        if (done) this.#done();
        else if (!this.#stopped) this.#retry = setTimeout(() => void this.request(), this.#retryMs());
        return done;
      });
    return this.#running;
  }

  async #run(): Promise<boolean> {
    const { step } = this.#parts;
    let at = await step();
    while (typeof at === 'object') at = await step(at);
    return at === 'done';
  }

  #failed(error: unknown): false {
    this.#failures += 1;
    if (this.#failures === 1) this.#report({ level: 'error', event: 'purge_failed', error });
    return false;
  }

  #done(): void {
    if (this.#failures > 0) this.#report({ level: 'info', event: 'purge_recovered' });
    this.#failures = 0;
    this.#parts.onDone?.();
  }

  #retryMs(): number {
    return Math.min(RETRY_MS * 2 ** this.#failures, LONGEST_RETRY_MS);
  }

  #report(told: Omit<TelemetryEvent, 'component'>): void {
    this.#parts.telemetry?.report({ component: 'storage', ...told });
  }
}
