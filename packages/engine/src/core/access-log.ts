import { BackgroundTask } from '../concurrency/background-task.ts';
import type { Telemetry } from '../ports/runtime.ts';
import type { Storage } from '../ports/storage.ts';
import type { MemoryAccess } from '../ports/storage-memories.ts';

/** How often gathered accesses are written, and how many memories' at the most wait for it, those under way apart. */
const FLUSH_EVERY_MS = 5000;
const WAITING_LIMIT = 10_000;

/** Memories of one write: some milliseconds, for which others wait. */
const WRITTEN_AT_ONCE = 1000;

/**
 * Gathers which memories recall gave out, and writes it down now and then, so that recall itself never writes. What
 * has been gathered since the last time is lost with the process; it is a hint, not a memory. While a write takes long,
 * what was recalled longest ago gives way.
 */
export class AccessLog {
  readonly #storage: Storage;
  readonly #telemetry: Telemetry;
  /** By ordinal; what was noted last is last. */
  readonly #waiting = new Map<number, MemoryAccess>();
  #lost = 0;
  readonly #writing = new BackgroundTask({ run: () => this.#write(), debounceMs: FLUSH_EVERY_MS });

  constructor(storage: Storage, telemetry: Telemetry) {
    this.#storage = storage;
    this.#telemetry = telemetry;
  }

  note(namespace: string, ordinals: readonly number[], at: number): void {
    for (const ordinal of ordinals) {
      const count = (this.#waiting.get(ordinal)?.count ?? 0) + 1;
      this.#waiting.delete(ordinal);
      this.#waiting.set(ordinal, { namespace, ordinal, count, at });
    }
    this.#dropOldest();
    void this.#writing.request(this.#waiting.size >= WAITING_LIMIT ? 'now' : undefined);
  }

  /** Writes down what was gathered. */
  async flush(): Promise<void> {
    await this.#writing.request('now');
  }

  #dropOldest(): void {
    for (const [ordinal, { count }] of this.#waiting) {
      if (this.#waiting.size <= WAITING_LIMIT) return;
      this.#waiting.delete(ordinal);
      this.#lost += count;
    }
  }

  async #write(): Promise<'done'> {
    const accesses = [...this.#waiting.values()];
    this.#waiting.clear();
    let written = 0;
    try {
      for (; written < accesses.length; written += WRITTEN_AT_ONCE) {
        await this.#storage.recordAccess(accesses.slice(written, written + WRITTEN_AT_ONCE));
      }
      if (this.#lost > 0) this.#reportLost();
    } catch (error) {
      for (const { count } of accesses.slice(written)) this.#lost += count;
      this.#reportLost({ error });
    }
    return 'done';
  }

  #reportLost(cause: { error?: unknown } = {}): void {
    const facts = { accesses: this.#lost };
    this.#lost = 0;
    this.#telemetry.report({ level: 'warn', component: 'retrieval', event: 'accesses_lost', facts, ...cause });
  }
}
