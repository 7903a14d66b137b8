import { BackgroundTask } from '../concurrency/background-task.ts';
import type { Telemetry } from '../ports/runtime.ts';
import type { Storage } from '../ports/storage.ts';
import type { MemoryAccess } from '../ports/storage-memories.ts';

/** Delay from the first unwritten use to the write. */
const FLUSH_INTERVAL_MS = 5000;

/** Maximum number of memories with unwritten uses. At this number, the uses are written without delay. */
const MAX_PENDING = 10_000;

/** Maximum memories per write. One write takes some milliseconds, during which other writers wait. */
const WRITE_BATCH_SIZE = 1000;

/**
 * Collects the memories that recall returned and writes their use counts in batches, so that recall itself never
 * writes. A crash or a failed write loses the counts since the last write, which is acceptable because counts are only
 * a hint for ranking. If writes fall behind, the memories that were recalled longest ago are dropped.
 */
export class AccessLog {
  readonly #storage: Storage;
  readonly #telemetry: Telemetry;
  /** Unwritten uses by ordinal, least recently recalled first. */
  readonly #pending = new Map<number, MemoryAccess>();
  #dropped = 0;
  readonly #writeTask = new BackgroundTask({ run: () => this.#write(), debounceMs: FLUSH_INTERVAL_MS });

  constructor(storage: Storage, telemetry: Telemetry) {
    this.#storage = storage;
    this.#telemetry = telemetry;
  }

  note(namespace: string, ordinals: readonly number[], at: number): void {
    for (const ordinal of ordinals) {
      const count = (this.#pending.get(ordinal)?.count ?? 0) + 1;
      this.#pending.delete(ordinal);
      this.#pending.set(ordinal, { namespace, ordinal, count, at });
    }
    this.#dropOldest();
    void this.#writeTask.request(this.#pending.size >= MAX_PENDING ? 'now' : undefined);
  }

  /** Writes all pending accesses now. */
  async flush(): Promise<void> {
    await this.#writeTask.request('now');
  }

  #dropOldest(): void {
    for (const [ordinal, { count }] of this.#pending) {
      if (this.#pending.size <= MAX_PENDING) return;
      this.#pending.delete(ordinal);
      this.#dropped += count;
    }
  }

  async #write(): Promise<'done'> {
    const accesses = [...this.#pending.values()];
    this.#pending.clear();
    let written = 0;
    try {
      for (; written < accesses.length; written += WRITE_BATCH_SIZE) {
        await this.#storage.recordAccess(accesses.slice(written, written + WRITE_BATCH_SIZE));
      }
      if (this.#dropped > 0) this.#reportDropped();
    } catch (error) {
      for (const { count } of accesses.slice(written)) this.#dropped += count;
      this.#reportDropped({ error });
    }
    return 'done';
  }

  #reportDropped(cause: { error?: unknown } = {}): void {
    const facts = { accesses: this.#dropped };
    this.#dropped = 0;
    this.#telemetry.report({ level: 'warn', component: 'retrieval', event: 'accesses_lost', facts, ...cause });
  }
}
