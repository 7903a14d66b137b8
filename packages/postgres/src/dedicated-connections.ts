import { MemoryError } from '@memoryd/contract/errors';
import type { Client, ClientConfig } from 'pg';

export interface DedicatedOptions {
  /** Timeout of each statement; 0 for no timeout. */
  statementTimeoutMs: number;
  /** Aborts the work, including a running statement. */
  signal?: AbortSignal | undefined;
}

/**
 * Connections outside of the pool, each opened for one long piece of work, so that long work does not occupy the pool.
 * Aborted work, and work in progress when the connections are closed, rejects with UNAVAILABLE.
 */
export class DedicatedConnections {
  readonly #createClient: (options: ClientConfig) => Client;
  readonly #terminate: (backend: number) => Promise<void>;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  /** @param terminate terminates the server process of another connection; never rejects */
  constructor(createClient: (options: ClientConfig) => Client, terminate: (backend: number) => Promise<void>) {
    this.#createClient = createClient;
    this.#terminate = terminate;
  }

  /** Runs work on a new connection. */
  async use<T>(work: (client: Client) => Promise<T>, { statementTimeoutMs, signal }: DedicatedOptions): Promise<T> {
    const combined = AbortSignal.any([this.#closing.signal, ...(signal ? [signal] : [])]);
    const running = this.#use(work, statementTimeoutMs, combined);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Aborts all running work, and waits for the work to end. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#running);
  }

  async #use<T>(work: (client: Client) => Promise<T>, timeoutMs: number, signal: AbortSignal): Promise<T> {
    assertNotAborted(signal);
    const client = this.#createClient(timeoutMs === 0 ? { query_timeout: 0 } : {});
    const end = () => void client.end().catch(() => {});
    let backend: number | undefined;
    try {
      // The listener is added after `connect`: a client that is ended while it connects would never settle `connect`.
      await client.connect();
      signal.addEventListener('abort', end);
      backend = await prepareSession(client, timeoutMs);
      assertNotAborted(signal);
      return await work(client);
    } catch (error) {
      if (!signal.aborted) throw error;
      // Without this call, the server would finish the statement, and hold its locks until the end of the statement.
      if (backend !== undefined) await this.#terminate(backend);
      throw createAbortError(error);
    } finally {
      signal.removeEventListener('abort', end);
      end();
    }
  }
}

/** Sets the statement timeout, and returns the id of the server process of the connection. */
async function prepareSession(client: Client, timeoutMs: number): Promise<number> {
  await client.query(`SET statement_timeout = ${timeoutMs}`);
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return (rows[0] as { pid: number }).pid;
}

function assertNotAborted(signal: AbortSignal): void {
  if (signal.aborted) throw createAbortError(signal.reason);
}

function createAbortError(cause: unknown): MemoryError {
  return new MemoryError('UNAVAILABLE', 'the operation was aborted; start the operation again', { cause });
}
