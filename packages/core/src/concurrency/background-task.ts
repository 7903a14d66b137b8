/** Result of a run: all work is done, more work is left, or the work is blocked at the moment. */
export type Outcome = 'done' | 'more' | 'held-up';

export interface BackgroundTaskOptions {
  /** Does all or part of the pending work. The signal is aborted by `stop`. */
  run(signal: AbortSignal): Promise<Outcome>;
  /** Debounce in ms: the delay between a request and its run. The run serves all requests made during the delay. */
  debounceMs?: number;
  /** Minimum pause in ms between a run with the result `done` and the next requested run. */
  restMs?: number;
  /** Interval in ms of runs without a request. */
  everyMs?: number;
  /** Delay in ms before a failed or blocked run is retried. If absent, the run is retried by `everyMs` or a request. */
  retryMs?(failuresInARow: number): number;
  /** Called at the first of consecutive failures. */
  onFailed?(error: unknown): void;
  /** Called at the first successful run after failures. */
  onRecovered?(): void;
}

/**
 * Background work with one run at a time. Requests during a run, or before a run begins, share the next run. A failed
 * or blocked run is retried automatically if `retryMs` or `everyMs` is set.
 */
export class BackgroundTask {
  /** Returns a function that computes a delay in ms. The delay doubles with each consecutive failure, up to `maxMs`. */
  static doubling(firstMs: number, maxMs: number): (failuresInARow: number) => number {
    return (failures) => Math.min(firstMs * 2 ** Math.max(0, failures - 1), maxMs);
  }

  readonly #options: BackgroundTaskOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  /** Requested run that has not begun. Further requests share the run. */
  #next: Next | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  /** Earliest time of the next requested run, on the clock of `performance.now()`. Urgent requests ignore the time. */
  #restsUntil = 0;

  constructor(options: BackgroundTaskOptions) {
    this.#options = options;
  }

  /** Number of failures since the last successful run. */
  get failures(): number {
    return this.#failures;
  }

  /** Aborted by `stop`. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Starts runs at the interval `everyMs`. The first run begins after one interval. */
  start(): void {
    const { everyMs } = this.#options;
    if (everyMs !== undefined) this.#runIn(everyMs);
  }

  /**
   * Requests a run. With `now`, the run ignores debounce and pauses, and waits only for the run in progress. Resolves
   * with true if a run that began after this call is done. Resolves with false if the run failed or was blocked, or if
   * the task is stopped.
   */
  request(when?: 'now'): Promise<boolean> {
    if (this.signal.aborted) return Promise.resolve(false);
    const isFirst = !this.#next;
    const next = (this.#next ??= newNext());
    if (when === 'now') next.isUrgent = true;
    // Further requests share the timer of the first request.
    if (!this.#running && (isFirst || next.isUrgent)) this.#runNext(next);
    return next.promise;
  }

  /** Aborts the signal of the run in progress, waits for the run, and prevents further runs. */
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

interface Next {
  promise: Promise<boolean>;
  resolve(isDone: boolean): void;
  /** True if the run ignores debounce and pauses. */
  isUrgent: boolean;
}

function newNext(): Next {
  let resolve = (_isDone: boolean) => {};
  const promise = new Promise<boolean>((settle) => {
    resolve = settle;
  });
  return { promise, resolve, isUrgent: false };
}
