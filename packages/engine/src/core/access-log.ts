import type { Storage } from '../ports/storage.ts';
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
  #waiting = new Map<number, { count: number; at: number }>();
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> = Promise.resolve();

  constructor(storage: Storage, telemetry: Telemetry) {
    this.#storage = storage;
    this.#telemetry = telemetry;
  }

  note(ordinals: readonly number[], at: number): void {
    for (const ordinal of ordinals) {
      this.#waiting.set(ordinal, { count: (this.#waiting.get(ordinal)?.count ?? 0) + 1, at });
    }
    if (this.#waiting.size >= WAITING_LIMIT) void this.flush();
    else this.#timer ??= setTimeout(() => void this.flush(), FLUSH_EVERY_MS).unref();
  }

  /** Writes down what was gathered. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const accesses = Array.from(this.#waiting, ([ordinal, access]) => ({ ordinal, ...access }));
    this.#waiting = new Map();
    if (accesses.length > 0) this.#flushing = this.#flushing.then(() => this.#write(accesses));
    return this.#flushing;
  }

  async #write(accesses: { ordinal: number; count: number; at: number }[]): Promise<void> {
    try {
      await this.#storage.recordAccess(accesses);
    } catch (error) {
      this.#telemetry.report({ level: 'warn', component: 'retrieval', event: 'accesses_lost', error });
    }
  }
}
