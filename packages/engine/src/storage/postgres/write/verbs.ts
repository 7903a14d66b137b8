import type { Storage } from '../../../ports/storage.ts';
import type { StoreOutcome } from '../../../ports/storage-memories.ts';
import type { Quota } from '../../../ports/storage-namespaces.ts';
import { forget } from '../../sql/forget.ts';
import { importKept } from '../../sql/import.ts';
import { beginMigration, endMigration } from '../../sql/migration-mark.ts';
import { setQuota } from '../../sql/namespace-quotas.ts';
import { dropIdempotencyKeys } from '../../sql/store.ts';
import { update } from '../../sql/update.ts';
import type { Connection } from '../connection.ts';
import type { VectorIndexes } from '../search/vector-index.ts';
import { recordAccesses } from './access.ts';
import { deleteNamespace } from './delete-namespace.ts';
import { forgetMany } from './forget.ts';
import type { StoreQueue } from './store-queue.ts';
import { useModel } from './use-model.ts';
import type { VacuumRequests } from './vacuum.ts';
import { pendingEmbeddings, putVectors } from './vectors.ts';

/** What clients write, and what is written about it. */
export function writeVerbs(
  connection: Connection,
  {
    stores,
    vacuum,
    vectorIndexes,
    quota,
  }: { stores: StoreQueue; vacuum: VacuumRequests; vectorIndexes: VectorIndexes; quota: Quota },
) {
  return {
    async store(memory) {
      const [stored] = await stores.storeMany([memory]);
      return stored as StoreOutcome;
    },
    storeMany: (memories) => stores.storeMany(memories),
    update: (change) =>
      connection.write({ exclusive: change.namespace }, (transaction) => update(transaction, change, quota)),
    async forget(namespace, id, ifVersions) {
      const forgotten = await connection.write({ exclusive: namespace }, (transaction) =>
        forget(transaction, namespace, id, ifVersions),
      );
      if (forgotten.outcome !== 'forgotten') return forgotten;
      vacuum.request();
      return { ...forgotten, purged: false };
    },
    forgetMany: (namespace, selection, onForgotten) =>
      forgetMany(connection, namespace, selection, { vacuum, onForgotten }),
    recordAccess: (accesses) => recordAccesses(connection, accesses),
    async useModel(modelId, signal) {
      const anew = await useModel(connection, modelId, signal);
      vectorIndexes.request(modelId);
      return anew;
    },
    pendingEmbeddings: (modelId, batch) => pendingEmbeddings(connection, modelId, batch),
    async putVectors(modelId, vectors) {
      const written = await putVectors(connection, modelId, vectors);
      vectorIndexes.request(modelId);
      return written;
    },
    setQuota: (namespace, own) =>
      connection.write({ exclusive: namespace }, (transaction) => setQuota(transaction, namespace, own)),
    async deleteNamespace(namespace) {
      const count = await deleteNamespace(connection, namespace, vacuum);
      return { count, purged: count === 0 };
    },
    importKept: (namespace, records, links) =>
      connection.write({ exclusive: namespace }, (transaction) =>
        importKept(transaction, namespace, records, links, quota),
      ),
    beginMigration: (from) => connection.write('model', (transaction) => beginMigration(transaction, from)),
    endMigration: () => endMigration(connection),
    dropIdempotencyKeys: (usedBefore, limit) => dropIdempotencyKeys(connection, usedBefore, limit),
  } satisfies Partial<Storage>;
}
