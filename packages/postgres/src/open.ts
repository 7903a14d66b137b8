import { MemoryError } from '@memoryd/contract/errors';
import {
  NO_QUOTAS,
  type OpenDatabase,
  type ServerOptions,
  type Storage,
  type StoreOutcome,
  sqlStorage,
} from '@memoryd/core';
import { connect } from './connection.ts';
import { Copies } from './copies.ts';
import { integrity } from './integrity.ts';
import { migrate } from './migrate.ts';
import { PostgresNotices } from './notices.ts';
import { rebuildEntries } from './rebuild-entries.ts';
import { Replica } from './replica.ts';
import { createSearchMethods } from './search/search.ts';
import { VectorIndexes } from './search/vector-index.ts';
import { createSqlRunner, recordAccesses } from './sql-runner.ts';
import { StoreQueue } from './store-queue.ts';
import { createVacuumTask } from './vacuum.ts';
import { dropClaims, firstVectors, pendingEmbeddings, putVectors, useModel } from './vectors.ts';
import { assertMayWriteNow } from './writers.ts';

const DEFAULT_CONNECTIONS = 10;

/**
 * Opens storage in a PostgreSQL database with pgvector. Any number of processes can share the database. Rejects with
 * UNAVAILABLE if the database cannot be used.
 */
export async function openPostgres(options: ServerOptions): Promise<OpenDatabase> {
  const { connections = DEFAULT_CONNECTIONS, telemetry } = options;
  const primary = connect({ url: options.url, connections, telemetry });
  const replica =
    options.readUrl === undefined
      ? undefined
      : new Replica(primary, connect({ url: options.readUrl, connections, telemetry }), { telemetry });
  const connection = replica?.getTrackedPrimary() ?? primary;
  const close = () => Promise.all([primary.close(), replica?.close()]);
  try {
    await migrate(connection);
    await rebuildEntries(connection);
    await replica?.check();
  } catch (error) {
    await close();
    throw error;
  }
  const notices = new PostgresNotices(connection);
  const quota = options.quota ?? NO_QUOTAS;
  const stores = new StoreQueue(connection, { workingMax: options.workingMax, quota });
  const vacuum = createVacuumTask(connection);
  const vectorIndexes = new VectorIndexes(connection, telemetry);
  const copies = new Copies(connection);
  const { storage, lease, keys } = sqlStorage(createSqlRunner(connection, vacuum, quota));
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
        const pending = await useModel(connection, modelId, signal);
        vectorIndexes.request(modelId);
        return pending;
      },
      pendingEmbeddings: (...args) => pendingEmbeddings(connection, ...args),
      firstVectors: (...args) => firstVectors(connection, ...args),
      async putVectors(modelId, vectors) {
        const written = await putVectors(connection, modelId, vectors);
        vectorIndexes.request(modelId);
        return written;
      },
      ...createSearchMethods(connection, replica),
      async condition() {
        return replica ? { replicationLagSeconds: await replica.lagSeconds() } : {};
      },
      integrity: () => connection.snapshotWithoutTimeout((queries) => integrity(queries)),
      backup: rejectBackup,
      exportRecords: (...args) => copies.exportRecords(...args),
      async close() {
        await copies.close();
        await stores.idle();
        // These tasks can take a long time, and end when the connection is closed below.
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

// PostgreSQL is backed up with its own tools, which also support point-in-time recovery.
async function rejectBackup(): ReturnType<Storage['backup']> {
  throw new MemoryError(
    'NOT_FOUND',
    'backup is available for SQLite only; back up PostgreSQL with pg_dump, or with pg_basebackup and WAL archiving (see the backup guide)',
  );
}
