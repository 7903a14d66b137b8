import type { KeyStore } from '../../ports/key-store.ts';
import type { Lease } from '../../ports/lease.ts';
import type { Storage } from '../../ports/storage.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { migrate } from './migrate.ts';
import { readVerbs } from './read/verbs.ts';
import { renewEntries } from './renew.ts';
import { VectorIndexes } from './search/vector-index.ts';
import { searchVerbs } from './search/verbs.ts';
import { sleepVerbs } from './sleep/verbs.ts';
import { acquireLease, releaseLease } from './write/lease.ts';
import { StoreQueue } from './write/store-queue.ts';
import { VacuumRequests } from './write/vacuum.ts';
import { dropClaims } from './write/vectors.ts';
import { writeVerbs } from './write/verbs.ts';

export interface PostgresOptions extends Pick<ConnectionOptions, 'url'> {
  /** Most connections at a time; 10 where none is given. */
  connections?: number;
  /** Most working memories of a namespace. */
  workingMax: number;
}

/** What an open database serves. */
export interface OpenPostgres {
  storage: Storage;
  lease: Lease;
  keys: KeyStore;
}

const CONNECTIONS = 10;

/**
 * Storage in a PostgreSQL database with pgvector, which any number of processes may share. UNAVAILABLE when it cannot be
 * used.
 */
export async function openPostgres(options: PostgresOptions): Promise<OpenPostgres> {
  const connection = connect({ url: options.url, connections: options.connections ?? CONNECTIONS });
  try {
    await migrate(connection);
    await renewEntries(connection);
  } catch (error) {
    await connection.close();
    throw error;
  }
  const stores = new StoreQueue(connection, options.workingMax);
  const vacuum = new VacuumRequests(connection);
  const vectorIndexes = new VectorIndexes(connection);
  return {
    storage: {
      ...readVerbs(connection),
      ...writeVerbs(connection, { stores, vacuum, vectorIndexes }),
      ...searchVerbs(connection),
      ...sleepVerbs(connection, { vacuum }),
      ...({} as Pick<
        Storage,
        'secret' | 'totals' | 'usage' | 'setQuota' | 'deleteNamespace' | 'backup' | 'kept' | 'importKept'
      >),
      async close() {
        await stores.idle();
        await vacuum.stop();
        await vectorIndexes.idle();
        await dropClaims(connection).catch(() => {});
        await connection.close();
      },
    },
    lease: {
      acquire: (...args) => acquireLease(connection, ...args),
      release: (...args) => releaseLease(connection, ...args),
    },
    keys: {} as KeyStore,
  };
}
