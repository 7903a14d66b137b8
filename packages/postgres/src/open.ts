import { MemoryError } from '@memoryd/contract/errors';
import {
  NO_QUOTAS,
  type OpenDatabase,
  type PostgresOptions,
  type StorageCopy,
  type StoreOutcome,
  sqlStorage,
} from '@memoryd/engine/storage-kit';
import { connect } from './connection.ts';
import { Copies } from './copies.ts';
import { integrity } from './integrity.ts';
import { migrate } from './migrate-database.ts';
import { PostgresNotices } from './notices.ts';
import { renewEntries } from './renew.ts';
import { Replica } from './replica.ts';
import { searchVerbs } from './search/search.ts';
import { VectorIndexes } from './search/vector-index.ts';
import { recordAccesses, sqlRunner } from './sql-runner.ts';
import { StoreQueue } from './store-queue.ts';
import { vacuumTask } from './vacuum.ts';
import { dropClaims, pendingEmbeddings, putVectors, useModel } from './vectors.ts';
import { assertMayWriteNow } from './writers.ts';

const CONNECTIONS = 10;

/**
 * Storage in a PostgreSQL database with pgvector, which any number of processes may share. UNAVAILABLE when it cannot be
 * used.
 */
export async function openPostgres(options: PostgresOptions): Promise<OpenDatabase> {
  const { connections = CONNECTIONS } = options;
  const primary = connect({ url: options.url, connections });
  const replica =
    options.readUrl === undefined
      ? undefined
      : new Replica(primary, connect({ url: options.readUrl, connections }), { telemetry: options.telemetry });
  const connection = replica?.watched() ?? primary;
  const close = () => Promise.all([primary.close(), replica?.close()]);
  try {
    await migrate(connection);
    await renewEntries(connection);
    await replica?.check();
  } catch (error) {
    await close();
    throw error;
  }
  const notices = new PostgresNotices(connection);
  const quota = options.quota ?? NO_QUOTAS;
  const stores = new StoreQueue(connection, { workingMax: options.workingMax, quota });
  const vacuum = vacuumTask(connection);
  const vectorIndexes = new VectorIndexes(connection, options.telemetry);
  const copies = new Copies(connection);
  const { storage, lease, keys } = sqlStorage(sqlRunner(connection, vacuum, quota));
  return {
    storage: {
      ...storage,
      async store(memory) {
        const [stored] = await stores.storeMany([memory]);
        return stored as StoreOutcome;
      },
      storeMany: (memories) => stores.storeMany(memories),
      async probe(...args) {
        await assertMayWriteNow(connection);
        await storage.probe(...args);
      },
      recordAccess: (accesses) => recordAccesses(connection, accesses),
      async useModel(modelId, signal) {
        const anew = await useModel(connection, modelId, signal);
        vectorIndexes.request(modelId);
        return anew;
      },
      pendingEmbeddings: (...args) => pendingEmbeddings(connection, ...args),
      async putVectors(modelId, vectors) {
        const written = await putVectors(connection, modelId, vectors);
        vectorIndexes.request(modelId);
        return written;
      },
      ...searchVerbs(connection, replica),
      async condition() {
        return replica ? { replicationLagSeconds: await replica.lagSeconds() } : {};
      },
      integrity: () => connection.unhurried((queries) => integrity(queries)),
      backup: refuseBackup,
      kept: (...args) => copies.kept(...args),
      async close() {
        await copies.close();
        await stores.idle();
        // What they do may take long, and ends with the connection.
        const stopped = [vacuum.stop(), vectorIndexes.stop()];
        await notices.close();
        await dropClaims(connection).catch(() => {});
        await close();
        await Promise.all(stopped);
      },
    },
    lease: {
      ...lease,
      async acquire(...args) {
        await assertMayWriteNow(connection);
        return lease.acquire(...args);
      },
    },
    keys,
    notices,
  };
}

// A copy that a server can be restored from is made by the server's own tools, which also keep what is written after it.
async function refuseBackup(): Promise<StorageCopy> {
  throw new MemoryError(
    'NOT_FOUND',
    'a database on a PostgreSQL server is backed up with pg_dump, or pg_basebackup and archived logs; see the guide about copies',
  );
}
