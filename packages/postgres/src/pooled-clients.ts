import { MemoryError } from '@memoryd/contract/errors';
import { LRUCache } from 'lru-cache';
import { type Client, Pool, type PoolClient, type PoolConfig } from 'pg';
import type { ClientClass } from './clients.ts';
import { CommitUnknown, isLost } from './failure.ts';

/** Most calls that wait for a connection. */
export const WAITING_LIMIT = 2000;

/** The connections that all calls share, and the names that their statements have there. */
export class PooledClients {
  readonly names = new StatementNames();
  readonly #pool: Pool;

  /** Opens no connection yet. */
  constructor(options: PoolConfig, DatabaseClient: ClientClass) {
    this.#pool = new Pool({ ...options, Client: DatabaseClient as unknown as new () => Client });
    // An idle connection that is lost is replaced when the next is asked for.
    this.#pool.on('error', () => {});
  }

  /** Does work with a connection, which is thrown away where it is lost. UNAVAILABLE where too many wait for one, and once all are closed. */
  async use<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    if (this.#pool.ending) throw new MemoryError('UNAVAILABLE', 'the database is closed');
    if (this.#pool.waitingCount >= WAITING_LIMIT) {
      throw new MemoryError('UNAVAILABLE', 'too many calls wait for the database');
    }
    const client = await this.#pool.connect();
    let isUseless = false;
    try {
      return await work(client);
    } catch (error) {
      isUseless = isLost(error) || error instanceof CommitUnknown;
      throw error;
    } finally {
      client.release(isUseless || this.names.isFull(client));
    }
  }

  /** Closes all, once nobody uses them. */
  end(): Promise<void> {
    return this.#pool.end();
  }
}

/** Most statements of a database that have a name, and most that a connection keeps prepared. */
const NAMED_LIMIT = 256;
const PREPARED_LIMIT = 2 * NAMED_LIMIT;

/**
 * The names under which connections to one database keep statements prepared: of those asked lately, and more than once, for
 * filters make statements of many shapes. A name stands for one text for ever.
 */
export class StatementNames {
  readonly #asked = new LRUCache<string, { name?: string }>({ max: NAMED_LIMIT });
  readonly #prepared = new WeakMap<object, Set<string>>();
  #given = 0;

  /** The name of a statement that a connection is about to be asked, if it has one. */
  getName(text: string, connection: object): string | undefined {
    const before = this.#asked.get(text);
    if (!before) this.#asked.set(text, {});
    else before.name ??= `memoryd_${this.#given++}`;
    if (before?.name) this.#preparedOn(connection).add(before.name);
    return before?.name;
  }

  /** Whether a connection keeps so many, most of them of no use any more, that a new one is better. */
  isFull(connection: object): boolean {
    return this.#preparedOn(connection).size >= PREPARED_LIMIT;
  }

  #preparedOn(connection: object): Set<string> {
    const prepared = this.#prepared.get(connection) ?? new Set();
    this.#prepared.set(connection, prepared);
    return prepared;
  }
}
