import type { Storage } from '../ports/storage.ts';
import type { MemoryAccess } from '../ports/storage-memories.ts';
import type { Telemetry } from '../ports/telemetry.ts';

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
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;

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
    this.#writeInTime();
  }

  /** Writes down what was gathered. */
  async flush(): Promise<void> {
    await this.#writing;
    await this.#write();
  }

  #dropOldest(): void {
    for (const [ordinal, { count }] of this.#waiting) {
      if (this.#waiting.size <= WAITING_LIMIT) return;
      this.#waiting.delete(ordinal);
      this.#lost += count;
    }
  }

  #writeInTime(): void {
    if (this.#waiting.size >= WAITING_LIMIT) void this.#write();
    else this.#timer ??= setTimeout(() => void this.#write(), FLUSH_EVERY_MS).unref();
  }

  /** Writes what waits, unless a write is under way; resolves when either has ended. */
  #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
      if (this.#waiting.size > 0) this.#writeInTime();
    });
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    const accesses = [...this.#waiting.values()];
    this.#waiting.clear();
    if (accesses.length === 0) return;
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
  }

  #reportLost(cause: { error?: unknown } = {}): void {
    const facts = { accesses: this.#lost };
    this.#lost = 0;
    this.#telemetry.report({ level: 'warn', component: 'retrieval', event: 'accesses_lost', facts, ...cause });
  }
}
