import { recordAccess } from '../../sql/access-counts.ts';
import { addKey, deleteKeys, importKeys, revokeKey } from '../../sql/api-keys.ts';
import { clearArchive } from '../../sql/clear-archive.ts';
import { dropNamespace, eraseSome } from '../../sql/delete-namespace.ts';
import { correct, distil, dropCandidates, refresh } from '../../sql/distil-groups.ts';
import { evictExcess, evictExpired } from '../../sql/evict.ts';
import { forget, forgetSome, lastOrdinal } from '../../sql/forget.ts';
import { importKept } from '../../sql/import.ts';
import { acquireLease, releaseLease } from '../../sql/lease.ts';
import { mergeTwins } from '../../sql/merge-duplicates.ts';
import { beginMigration, endMigration } from '../../sql/migration-mark.ts';
import { setQuota } from '../../sql/namespace-quotas.ts';
import { beginRun, endRun } from '../../sql/run.ts';
import { settle } from '../../sql/settle.ts';
import { dropIdempotencyKeys } from '../../sql/store.ts';
import { beginRevert, beginUndo, undoSome } from '../../sql/undo-run.ts';
import { update } from '../../sql/update.ts';
import type { Connection } from '../connection.ts';
import type { FileQueries } from '../queries.ts';
import { storeAll, storeMany } from './store.ts';
import { putVectors, useModel } from './vectors.ts';

/**
 * All that the write thread does, by name. Each runs inside a transaction that it shares with others, and does all of its
 * work or, when it throws, none.
 */
export const writeVerbs = {
  storeMany,
  storeAll,
  importKept,
  beginMigration,
  endMigration,
  update,
  forget,
  forgetSome,
  lastOrdinal,
  eraseSome,
  dropNamespace,
  setQuota,
  addKey,
  importKeys,
  revokeKey,
  deleteKeys,
  beginRun,
  settle,
  evictExpired,
  evictExcess,
  mergeTwins,
  distil,
  refresh,
  correct,
  dropCandidates,
  clearArchive,
  endRun,
  beginUndo,
  beginRevert,
  undoSome,
  useModel: onConnection(useModel),
  putVectors: onConnection(putVectors),
  recordAccess,
  dropIdempotencyKeys,
  acquireLease,
  releaseLease,
};
export type WriteVerbs = typeof writeVerbs;

/** Returns a verb that works on the connection itself. */
function onConnection<Args extends unknown[], Result>(verb: (connection: Connection, ...args: Args) => Result) {
  return async ({ connection }: FileQueries, ...args: Args): Promise<Result> => verb(connection, ...args);
}
