/** How a run ended: with all that there was to do, with a part of it, or because something is in its way. */
export type Outcome = 'done' | 'more' | 'held-up';

export interface BackgroundTaskOptions {
  /** Does what there is to do, or a part of it. The signal says that the task is being stopped. */
  run(signal: AbortSignal): Promise<Outcome>;
  /** Debounce in ms, from a request to its run: one run serves all requests in between. */
  debounceMs?: number;
  /** Milliseconds from the end of a run that is done to the next. */
  restMs?: number;
  /** Milliseconds after which a run begins that nobody has requested. */
  everyMs?: number;
  /** Milliseconds after which a run that was held up or has failed is tried again; by the next request alone where absent. */
  retryMs?(failuresInARow: number): number;
  /** Told of the first failure in a row. */
  onFailed?(error: unknown): void;
  /** Told of the first run that is done after failures. */
  onRecovered?(): void;
}

/**
 * Work that goes on behind requests, one run at a time. Requests that come while a run is under way, or before one has
 * begun, share the next. A run that is held up or fails is tried again by itself.
 */
export class BackgroundTask {
  readonly #options: BackgroundTaskOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  /** The run that requests wait for, as long as it has not begun. */
  #next: Next | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  /** Until then no run begins, unless it is requested at once. */
  #restsUntil = 0;

  constructor(options: BackgroundTaskOptions) {
    this.#options = options;
  }

  /** Failures since a run was done. */
  get failures(): number {
    return this.#failures;
  }

  /** Says that the task is being stopped. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Begins to run by itself, the first time after `everyMs`. */
  start(): void {
    const { everyMs } = this.#options;
    if (everyMs !== undefined) this.#runIn(everyMs);
  }

  /**
   * Requests a run. `now`: it waits for no pause, only for the run that is under way. Resolves with whether a run that began
   * after this call is done; where not, it is tried again. Resolves with false once the task is stopped.
   */
  request(when?: 'now'): Promise<boolean> {
    if (this.signal.aborted) return Promise.resolve(false);
    const isFirst = !this.#next;
    const next = (this.#next ??= newNext());
    if (when === 'now') next.isUrgent = true;
    // The others share the timer of the first.
    if (!this.#running && (isFirst || next.isUrgent)) this.#runNext(next);
    return next.promise;
  }

  /** Begins no run any more, and waits for the one that is under way. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#running;
    this.#next?.resolve(false);
  }

  #runNext({ isUrgent }: Next): void {
    const pauseMs = Math.max(this.#options.debounceMs ?? 0, this.#restsUntil - performance.now());
    if (isUrgent || pauseMs <= 0) this.#begin();
    else this.#runIn(pauseMs);
  }

  #runIn(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#begin(), ms).unref();
  }

  #begin(): void {
    clearTimeout(this.#timer);
    const served = this.#next;
    this.#next = undefined;
    this.#running = this.#run().then((outcome) => {
      this.#running = undefined;
      served?.resolve(outcome === 'done');
      if (this.signal.aborted) return;
      if (this.#next) this.#runNext(this.#next);
      else this.#runAgain(outcome);
    });
  }

  async #run(): Promise<Outcome | 'failed'> {
    try {
      let outcome = await this.#options.run(this.signal);
      while (outcome === 'more' && !this.signal.aborted) outcome = await this.#options.run(this.signal);
      if (outcome === 'done') this.#recover();
      this.#restsUntil = outcome === 'done' ? performance.now() + (this.#options.restMs ?? 0) : 0;
      return outcome;
    } catch (error) {
      this.#failures++;
      this.#restsUntil = performance.now() + (this.#options.retryMs?.(this.#failures) ?? 0);
      if (this.#failures === 1 && !this.signal.aborted) this.#options.onFailed?.(error);
      return 'failed';
    }
  }

  #recover(): void {
    if (this.#failures > 0) this.#options.onRecovered?.();
    this.#failures = 0;
  }

  #runAgain(outcome: Outcome | 'failed'): void {
    const { retryMs, everyMs } = this.#options;
    const inMs = outcome === 'done' ? everyMs : (retryMs?.(this.#failures) ?? everyMs);
    if (inMs !== undefined) this.#runIn(inMs);
  }
}

/** A run that has not begun. */
interface Next {
  promise: Promise<boolean>;
  resolve(isDone: boolean): void;
  /** Whether it waits for no pause. */
  isUrgent: boolean;
}

function newNext(): Next {
  let resolve = (_isDone: boolean) => {};
  const promise = new Promise<boolean>((promote) => {
    resolve = promote;
  });
  return { promise, resolve, isUrgent: false };
}

/** Returns a pause that doubles with each failure in a row. */
export function doubling(firstMs: number, longestMs: number): (failuresInARow: number) => number {
  return (failures) => Math.min(firstMs * 2 ** Math.max(0, failures - 1), longestMs);
}
