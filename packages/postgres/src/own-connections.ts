import { MemoryError } from '@memoryd/contract/errors';
import type { Client, ClientConfig } from 'pg';

export interface OwnWork {
  /** Longest that a statement may take; 0 for however long. */
  statementTimeoutMs: number;
  /** Gives the work up, in the middle of a statement too. */
  signal?: AbortSignal | undefined;
}

/**
 * Connections beside those of a pool, each opened for one work that takes long, so that nobody waits for one of the pool's
 * meanwhile. What is given up, or under way when they are closed, rejects with UNAVAILABLE.
 */
export class OwnConnections {
  readonly #makeClient: (options: ClientConfig) => Client;
  readonly #terminate: (backend: number) => Promise<void>;
  readonly #closing = new AbortController();
  readonly #works = new Set<Promise<unknown>>();

  /** `terminate` ends what the server does for another connection; it never rejects. */
  constructor(makeClient: (options: ClientConfig) => Client, terminate: (backend: number) => Promise<void>) {
    this.#makeClient = makeClient;
    this.#terminate = terminate;
  }

  /** Does work on a new connection. */
  async use<T>(work: (client: Client) => Promise<T>, { statementTimeoutMs, signal }: OwnWork): Promise<T> {
    const given = AbortSignal.any([this.#closing.signal, ...(signal ? [signal] : [])]);
    const using = this.#use(work, statementTimeoutMs, given);
    this.#works.add(using);
    try {
      return await using;
    } finally {
      this.#works.delete(using);
    }
  }

  /** Gives up what is under way. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#works);
  }

  async #use<T>(work: (client: Client) => Promise<T>, timeoutMs: number, signal: AbortSignal): Promise<T> {
    assertWanted(signal);
    const client = this.#makeClient(timeoutMs === 0 ? { query_timeout: 0 } : {});
    const end = () => void client.end().catch(() => {});
    let backend: number | undefined;
    try {
      // One that is ended while it opens would neither open nor fail.
      await client.connect();
      signal.addEventListener('abort', end);
      backend = await begin(client, timeoutMs);
      assertWanted(signal);
      return await work(client);
    } catch (error) {
      if (!signal.aborted) throw error;
      // By itself the server would notice when its statement is done, and hold its locks until then.
      if (backend !== undefined) await this.#terminate(backend);
      throw givenUp(error);
    } finally {
      signal.removeEventListener('abort', end);
      end();
    }
  }
}

/** Answers what the server calls the process that serves a connection. */
async function begin(client: Client, timeoutMs: number): Promise<number> {
  await client.query(`SET statement_timeout = ${timeoutMs}`);
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return (rows[0] as { pid: number }).pid;
}

function assertWanted(signal: AbortSignal): void {
  if (signal.aborted) throw givenUp(signal.reason);
}

function givenUp(cause: unknown): MemoryError {
  return new MemoryError('UNAVAILABLE', 'the work was given up', { cause });
}
