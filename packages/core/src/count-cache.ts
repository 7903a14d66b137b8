import { LRUCache } from 'lru-cache';
import type { ForgottenScope, ScopeListener } from './forgotten-scopes.ts';

/** Time in ms for which counts are kept. */
const LIFETIME_MS = 10_000;
/** Maximum entries, and maximum UTF-16 units of all results. */
const MAX_ENTRIES = 500;
const MAX_CHARS = 4 * 2 ** 20;
/** Size of a result that is still computed. */
const UNKNOWN_CHARS = 1;

/**
 * Counts of memories by namespace, kept for ten seconds after their computation, so that many open pages cost as much as
 * one. Requests for the same counts share one computation. Keeps no failures. A change of a memory that was stored before
 * drops the counts of its namespace, so that no one can read a forgotten value. New memories are counted once the entry
 * has expired.
 */
export class CountCache implements ScopeListener {
  readonly #entries: LRUCache<string, Promise<unknown>>;

  /** @param clock a clock in ms that only goes forward, and is never at 0 */
  constructor(clock: { now(): number } = performance) {
    this.#entries = new LRUCache({ max: MAX_ENTRIES, maxSize: MAX_CHARS, perf: clock, ttlResolution: 0 });
  }

  /** Returns the kept result, or computes it. */
  get<T>(namespace: string, request: unknown, compute: () => Promise<T>): Promise<T> {
    const key = `${namespace}\0${JSON.stringify(request)}`;
    const kept = this.#entries.get(key) as Promise<T> | undefined;
    if (kept) return kept;
    const result = compute();
    // Without a lifetime, so that requests share a computation that takes longer.
    this.#entries.set(key, result, { size: UNKNOWN_CHARS });
    const end = (options?: { size: number; ttl: number }) => {
      // A dropped entry stays dropped: its result may count forgotten memories.
      if (this.#entries.peek(key) !== result) return;
      // Deleted first, because an entry that is set to the same value again would keep its size.
      this.#entries.delete(key);
      if (options) this.#entries.set(key, result, options);
    };
    result.then(
      (value) => end({ size: JSON.stringify(value).length, ttl: LIFETIME_MS }),
      () => end(),
    );
    return result;
  }

  /** Drops the counts of a namespace, or all counts. */
  drop(namespace?: string): void {
    if (namespace === undefined) this.#entries.clear();
    else for (const key of [...this.#entries.keys()]) if (key.startsWith(`${namespace}\0`)) this.#entries.delete(key);
  }

  forget({ namespace }: ForgottenScope): void {
    this.drop(namespace);
  }

  forgetAll(): void {
    this.drop();
  }
}
