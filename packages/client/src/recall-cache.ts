/** Maximum recalls in the cache. */
const MAX_RECALLS = 200;
/** Period in ms after its last use in which a recall is reused. Longer than a step of a tool loop takes. */
const LIFETIME_MS = 5 * 60_000;

/**
 * Results of recalls, including recalls in progress, so that the steps of one turn share a recall. Keeps no failures.
 */
export class RecallCache {
  /** Least recently used first. */
  readonly #entries = new Map<string, { result: Promise<unknown>; expiresAt: number }>();

  /** Returns the cached result, or starts a recall. */
  get<T>(key: string, recall: () => Promise<T>): Promise<T> {
    const entry = this.#entries.get(key);
    const now = performance.now();
    const result = entry && now < entry.expiresAt ? (entry.result as Promise<T>) : this.#start(key, recall);
    this.#entries.delete(key);
    this.#entries.set(key, { result, expiresAt: now + LIFETIME_MS });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > MAX_RECALLS && oldest !== undefined) this.#entries.delete(oldest);
    return result;
  }

  #start<T>(key: string, recall: () => Promise<T>): Promise<T> {
    const result = recall();
    result.catch(() => {
      if (this.#entries.get(key)?.result === result) this.delete(key);
    });
    return result;
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}
