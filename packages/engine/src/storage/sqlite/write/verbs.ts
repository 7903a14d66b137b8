import { addKey, deleteKeys, importKeys, revokeKey } from '../../sql/api-keys.ts';
import { acquireLease, releaseLease } from '../../sql/lease.ts';
import { beginMigration, endMigration } from '../../sql/migration-mark.ts';
import { setQuota } from '../../sql/namespace-quotas.ts';
import { beginRun, endRun } from '../../sql/run.ts';
import type { Connection } from '../connection.ts';
import type { FileQueries } from '../queries.ts';
import { clearArchive } from '../sleep/archive.ts';
import { correct, distil, dropCandidates, refresh } from '../sleep/distil.ts';
import { evictExcess, evictExpired } from '../sleep/evict.ts';
import { mergeTwins } from '../sleep/merge.ts';
import { settle } from '../sleep/settle.ts';
import { beginRevert, beginUndo, undoSome } from '../sleep/undo.ts';
import { recordAccess } from './access.ts';
import { dropNamespace, eraseSome } from './delete-namespace.ts';
import { forget, forgetSome, lastOrdinal } from './forget.ts';
import { importKept } from './import.ts';
import { dropIdempotencyKeys, storeMany } from './store.ts';
import { update } from './update.ts';
import { putVectors, useModel } from './vectors.ts';

/**
 * All that the write thread does, by name. Each runs inside a transaction that it shares with others, and does all of its
 * work or, when it throws, none.
 */
export const writeVerbs = {
  storeMany,
  importKept,
  beginMigration,
  endMigration,
  update,
  forget: onConnection(forget),
  forgetSome: onConnection(forgetSome),
  lastOrdinal: onConnection(lastOrdinal),
  eraseSome: onConnection(eraseSome),
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
  recordAccess: onConnection(recordAccess),
  dropIdempotencyKeys: onConnection(dropIdempotencyKeys),
  acquireLease,
  releaseLease,
};
export type WriteVerbs = typeof writeVerbs;

/** Returns a verb that works on the connection itself. */
function onConnection<Args extends unknown[], Result>(verb: (connection: Connection, ...args: Args) => Result) {
  return async ({ connection }: FileQueries, ...args: Args): Promise<Result> => verb(connection, ...args);
}
