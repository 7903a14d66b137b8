import { clearArchive } from '../sleep/archive.ts';
import { correct, distil, dropCandidates, refresh } from '../sleep/distil.ts';
import { evictExcess, evictExpired } from '../sleep/evict.ts';
import { mergeTwins } from '../sleep/merge.ts';
import { beginRun, endRun } from '../sleep/run.ts';
import { settle } from '../sleep/settle.ts';
import { beginRevert, beginUndo, undoSome } from '../sleep/undo.ts';
import { recordAccess } from './access.ts';
import { dropNamespace, eraseSome } from './delete-namespace.ts';
import { forget, forgetSome, lastOrdinal } from './forget.ts';
import { importKept } from './import.ts';
import { addKey, deleteKeys, importKeys, revokeKey } from './keys.ts';
import { acquireLease, releaseLease } from './lease.ts';
import { beginMigration, endMigration } from './migration.ts';
import { setQuota } from './quota.ts';
import { dropIdempotencyKeys, storeMany } from './store.ts';
import { update } from './update.ts';
import { putVectors, useModel } from './vectors.ts';

/**
 * Everything that the write thread can be asked to do, by name. Each runs inside a transaction that it shares with
 * others, and does all of its work or, when it throws, none.
 */
export const writeVerbs = {
  storeMany,
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
  useModel,
  putVectors,
  recordAccess,
  dropIdempotencyKeys,
  acquireLease,
  releaseLease,
};
export type WriteVerbs = typeof writeVerbs;
