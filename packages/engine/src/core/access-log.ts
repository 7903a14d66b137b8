import type { MemoryAccess, Storage } from '../ports/storage.ts';
import type { Telemetry } from '../ports/telemetry.ts';

/** How often gathered accesses are written, and how many memories' at the most wait for it. */
const FLUSH_EVERY_MS = 5000;
const WAITING_LIMIT = 10_000;

/**
 * Gathers which memories recall gave out, and writes it down now and then, so that recall itself never writes. What
 * has been gathered since the last time is lost with the process; it is a hint, not a memory.
 */
export class AccessLog {
  readonly #storage: Storage;
  readonly #telemetry: Telemetry;
  #waiting = new Map<number, MemoryAccess>();
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> = Promise.resolve();

  constructor(storage: Storage, telemetry: Telemetry) {
    this.#storage = storage;
    this.#telemetry = telemetry;
  }

  note(namespace: string, ordinals: readonly number[], at: number): void {
    for (const ordinal of ordinals) {
      const count = (this.#waiting.get(ordinal)?.count ?? 0) + 1;
      this.#waiting.set(ordinal, { namespace, ordinal, count, at });
    }
    if (this.#waiting.size >= WAITING_LIMIT) void this.flush();
    else this.#timer ??= setTimeout(() => void this.flush(), FLUSH_EVERY_MS).unref();
  }

  /** Writes down what was gathered. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const accesses = [...this.#waiting.values()];
    this.#waiting = new Map();
    if (accesses.length > 0) this.#flushing = this.#flushing.then(() => this.#write(accesses));
    return this.#flushing;
  }

  async #write(accesses: MemoryAccess[]): Promise<void> {
    try {
      await this.#storage.recordAccess(accesses);
    } catch (error) {
      this.#telemetry.report({ level: 'warn', component: 'retrieval', event: 'accesses_lost', error });
    }
  }
}
