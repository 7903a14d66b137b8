import { MemoryError } from '@memoryd/contract/errors';
import { Pool, type PoolClient, type PoolConfig } from 'pg';
import { CommitUnknown, isLost } from './failure.ts';
import { StatementNames } from './statement-names.ts';

/** Most calls that wait for a connection. */
export const WAITING_LIMIT = 2000;

/** The connections that all calls share, and the names that their statements have there. */
export class PooledClients {
  readonly names = new StatementNames();
  readonly #pool: Pool;

  /** Opens no connection yet. */
  constructor(options: PoolConfig) {
    this.#pool = new Pool(options);
    // An idle connection that is lost is replaced when the next is asked for.
    this.#pool.on('error', () => {});
    // One that is lost otherwise, between two statements or before the first, is told of by the next, or by its release.
    this.#pool.on('connect', (client) => client.on('error', () => {}));
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
