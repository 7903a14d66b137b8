import { MemoryError } from '@memoryd/contract';
import type { Storage } from './ports/storage.ts';
import { isDamage } from './storage/damage.ts';

/** How long a result is used again: whoever asks more often has the database written no more for it. */
const RESULT_LASTS_MS = 1000;

/** How long a probe may take. */
const PROBE_LIMIT_MS = 5000;

/**
 * How long after a request met damage the database counts as damaged. A probe reads little of it, so that no success of a
 * probe says that the damage is gone.
 */
const DAMAGE_LASTS_MS = 300_000;

/** How much a probe writes after a request could not be served: as much as a request may bring. */
const LARGE_PROBE_CHARS = 1024 * 1024;

/** Whether a database can do its work: by what requests met, and by a write and a read. */
export class DatabaseHealth {
  readonly #storage: Storage;
  #damage: { problem: string; at: number } | undefined;
  /** Whether a request could not be served since the last probe that found nothing. */
  #isSuspect = false;
  #last: { result: Promise<string | undefined>; at: number } | undefined;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** Takes an error that a request met into account. */
  note(error: unknown): void {
    if (isDamage(error)) this.#damage = { problem: error.message, at: performance.now() };
    else if (error instanceof MemoryError && error.code === 'UNAVAILABLE' && !this.#isSuspect) {
      this.#isSuspect = true;
      this.#last = undefined;
    }
  }

  /** Returns what keeps the database from being read or written, half a sentence for an operator; undefined for nothing. */
  async problem(): Promise<string | undefined> {
    const now = performance.now();
    if (this.#damage && now - this.#damage.at < DAMAGE_LASTS_MS) return this.#damage.problem;
    if (!this.#last || now - this.#last.at >= RESULT_LASTS_MS) this.#last = { result: this.#probe(), at: now };
    return this.#last.result;
  }

  async #probe(): Promise<string | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<string>((resolve) => {
      timer = setTimeout(() => resolve('the database does not answer'), PROBE_LIMIT_MS);
    });
    const chars = this.#isSuspect ? LARGE_PROBE_CHARS : 0;
    const probed = this.#storage.probe(Date.now(), chars).then(() => {
      this.#isSuspect = false;
      return undefined;
    }, getMessage);
    try {
      return await Promise.race([probed, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

function getMessage(error: unknown): string {
  return error instanceof MemoryError ? error.message : 'the database fails, as the log says';
}

/** Returns a storage whose failures are noted. */
export function watchedBy(health: Pick<DatabaseHealth, 'note'>, storage: Storage): Storage {
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
