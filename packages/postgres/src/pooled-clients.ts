import { MemoryError } from '@memoryd/contract/errors';
import { LRUCache } from 'lru-cache';
import { type Client, Pool, type PoolClient, type PoolConfig } from 'pg';
import type { ClientClass } from './clients.ts';
import { CommitUnknown, isLost } from './failure.ts';

/** Maximum number of calls that wait for a connection. */
export const MAX_WAITING = 2000;

/** The connection pool and the names of its prepared statements. */
export class PooledClients {
  readonly names = new StatementNames();
  readonly #pool: Pool;

  /** Opens connections only when needed. */
  constructor(options: PoolConfig, DatabaseClient: ClientClass) {
    this.#pool = new Pool({ ...options, Client: DatabaseClient as unknown as new () => Client });
    // A lost idle connection is replaced on the next use.
    this.#pool.on('error', () => {});
  }

  /**
   * Runs work with a connection of the pool. A lost connection is discarded. Rejects with UNAVAILABLE if too many calls
   * wait for a connection, or if the pool is closed.
   */
  async use<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    if (this.#pool.ending) throw new MemoryError('UNAVAILABLE', 'the database is closed; retry when it is open again');
    if (this.#pool.waitingCount >= MAX_WAITING) {
      throw new MemoryError('UNAVAILABLE', 'too many requests are waiting for the database; retry later');
    }
    const client = await this.#pool.connect();
    let isBroken = false;
    try {
      return await work(client);
    } catch (error) {
      isBroken = isLost(error) || error instanceof CommitUnknown;
      throw error;
    } finally {
      client.release(isBroken || this.names.isFull(client));
    }
  }

  /** Closes all connections after they have been released. */
  end(): Promise<void> {
    return this.#pool.end();
  }
}

/** Maximum number of statements in the cache of names. */
const MAX_NAMED = 256;

/** Number of prepared statements after which a connection is replaced. */
const MAX_PREPARED = 2 * MAX_NAMED;

/**
 * Names of prepared statements. A statement gets a name on its second use, if the first use is still in the cache,
 * because filters produce many statements that are used only once. A name is never reused for another text.
 */
export class StatementNames {
  readonly #recent = new LRUCache<string, { name?: string }>({ max: MAX_NAMED });
  readonly #prepared = new WeakMap<object, Set<string>>();
  #nameCount = 0;

  /** Returns the name of a statement, if any, and records that the connection prepares the statement. */
  getName(text: string, connection: object): string | undefined {
    const known = this.#recent.get(text);
    if (!known) this.#recent.set(text, {});
    else known.name ??= `memoryd_${this.#nameCount++}`;
    if (known?.name) this.#getPrepared(connection).add(known.name);
    return known?.name;
  }

  /**
   * Returns true if a connection has the maximum number of prepared statements and should be replaced. At least half of
   * the statements are then no longer in the cache.
   */
  isFull(connection: object): boolean {
    return this.#getPrepared(connection).size >= MAX_PREPARED;
  }

  #getPrepared(connection: object): Set<string> {
    const prepared = this.#prepared.get(connection) ?? new Set();
    this.#prepared.set(connection, prepared);
    return prepared;
  }
}
