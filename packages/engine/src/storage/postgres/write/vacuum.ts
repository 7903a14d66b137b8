import type { Connection } from '../connection.ts';

/** Least time between two vacuums that forgetting asks for, and between a request and the vacuum that serves it. */
const APART_MS = 60_000;
const AFTER_MS = 1000;

/** The tables that hold texts, or what is made of them. */
const TABLES = 'memory, memory_history, recall_entry, posting, memory_vector, attribute';

/**
 * Asks the database, now and then, to free what forgetting left behind. Old versions of rows stay in its pages until it
 * has been vacuumed, in its log until that is recycled, and in whatever archives and copies it has; so this hastens what
 * autovacuum does anyway, and promises nothing.
 */
export class VacuumRequests {
  readonly #connection: Connection;
  #timer: NodeJS.Timeout | undefined;
  #endedAt = 0;
  #running: Promise<void> = Promise.resolve();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  request(): void {
    const afterMs = Math.max(AFTER_MS, this.#endedAt + APART_MS - performance.now());
    this.#timer ??= setTimeout(() => {
      this.#running = this.#vacuum();
    }, afterMs).unref();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #vacuum(): Promise<void> {
    try {
      // For no longer than any statement may take, and past tables that are being worked on.
      await this.#connection.outside((queries) => queries.script(`VACUUM (SKIP_LOCKED) ${TABLES}`));
    } catch {
      // Autovacuum comes by in its own time.
    }
    this.#endedAt = performance.now();
    this.#timer = undefined;
  }
}
