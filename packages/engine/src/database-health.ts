import { MemoryError } from '@memoryd/contract';
import type { Storage } from './ports/storage.ts';
import { isCorruption } from './storage/corruption.ts';

/** Time in ms for which the result of a probe is reused, so that frequent health checks do not cause more writes. */
const RESULT_TTL_MS = 1000;

/** Timeout of a probe, in ms. */
const PROBE_TIMEOUT_MS = 5000;

/**
 * Time in ms for which the database is reported as corrupt after a storage call has failed because of corruption. A
 * successful probe does not end this time, because a probe reads only a small part of the database.
 */
const CORRUPTION_TTL_MS = 300_000;

/** Characters written by a probe after a storage call failed with UNAVAILABLE. Detects a nearly full disk. */
const LARGE_PROBE_CHARS = 1024 * 1024;

/** Detects whether a database works, by the errors of storage calls and by probes that write and read. */
export class DatabaseHealth {
  readonly #storage: Storage;
  #corruption: { problem: string; at: number } | undefined;
  /** True if a storage call has failed with UNAVAILABLE since the last successful probe. */
  #isSuspect = false;
  #last: { result: Promise<string | undefined>; at: number } | undefined;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** Records the error of a storage call if the error shows that the database is corrupt or unavailable. */
  note(error: unknown): void {
    if (isCorruption(error)) this.#corruption = { problem: error.message, at: performance.now() };
    else if (error instanceof MemoryError && error.code === 'UNAVAILABLE' && !this.#isSuspect) {
      this.#isSuspect = true;
      this.#last = undefined;
    }
  }

  /**
   * Returns the problem that prevents reading or writing the database, as a phrase for operators. Returns undefined if
   * the database works.
   */
  async problem(): Promise<string | undefined> {
    const now = performance.now();
    if (this.#corruption && now - this.#corruption.at < CORRUPTION_TTL_MS) return this.#corruption.problem;
    if (!this.#last || now - this.#last.at >= RESULT_TTL_MS) this.#last = { result: this.#probe(), at: now };
    return this.#last.result;
  }

  async #probe(): Promise<string | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<string>((resolve) => {
      timer = setTimeout(() => resolve('the database does not respond'), PROBE_TIMEOUT_MS);
    });
    const chars = this.#isSuspect ? LARGE_PROBE_CHARS : 0;
    const probed = this.#storage.probe(Date.now(), chars).then(() => {
      this.#isSuspect = false;
      return undefined;
    }, getMessage);
    try {
      return await Promise.race([probed, timeout]);
    } finally {
      clearTimeout(timer);
    }
  }
}

function getMessage(error: unknown): string {
  return error instanceof MemoryError ? error.message : 'the database failed; see the log';
}

/** Wraps the methods of a storage so that `health` records their rejections. */
export function withHealth(health: Pick<DatabaseHealth, 'note'>, storage: Storage): Storage {
  const watched = Object.entries(storage).map(([name, member]) => {
    if (typeof member !== 'function') return [name, member];
    return [
      name,
      (...args: unknown[]) => {
        const result: unknown = member(...args);
        if (result instanceof Promise) result.catch((error: unknown) => health.note(error));
        return result;
      },
    ];
  });
  return Object.fromEntries(watched) as Storage;
}
