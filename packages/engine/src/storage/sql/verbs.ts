import { recordAccess } from './access-counts.ts';
import { addKey, deleteKeys, importKeys, readKeys, revokeKey } from './api-keys.ts';
import { clearArchive } from './clear-archive.ts';
import { dropNamespace, eraseSome } from './delete-namespace.ts';
import { correct, distil, dropCandidates, refresh } from './distil-groups.ts';
import { evictExcess, evictExpired } from './evict.ts';
import { forget, forgetSome, lastOrdinal } from './forget.ts';
import { importKept } from './import.ts';
import { acquireLease, releaseLease } from './lease.ts';
import { memories, memory, session } from './memory-pages.ts';
import { mergeTwins } from './merge-duplicates.ts';
import { beginMigration, endMigration, isMigrating } from './migration-mark.ts';
import { setQuota } from './namespace-quotas.ts';
import { namespaces, namespaceUsage } from './namespace-usage.ts';
import { leastRetainedAfter } from './retention-order.ts';
import { beginRun, endRun } from './run.ts';
import { changes, run, runs } from './run-pages.ts';
import { planEvict, planMergeAfter, planSettle } from './run-plan.ts';
import { secret } from './secret.ts';
import { sessions } from './session-summaries.ts';
import { settle } from './settle.ts';
import { readGroup } from './source-group.ts';
import { stats, totals } from './stats-query.ts';
import { dropIdempotencyKeys, storeMany } from './store.ts';
import { history, textAt } from './text-history.ts';
import { beginRevert, beginUndo, undoSome } from './undo-run.ts';
import { update } from './update.ts';

/** Reads by name: each gets `Queries` of one snapshot, and then its arguments. */
export const readVerbs = {
  ...{ memory, history, textAt, memories, session, sessions },
  ...{ stats, totals, namespaces, namespaceUsage, secret, isMigrating, readKeys },
  ...{ runs, run, changes, readGroup, planSettle, planMergeAfter, planEvict, leastRetainedAfter },
};

/** Writes by name: each gets a `Transaction`, and does all of its work in it or, when it throws, none. */
export const writeVerbs = {
  ...{ storeMany, importKept, update, forget, forgetSome, lastOrdinal, recordAccess, dropIdempotencyKeys },
  ...{ eraseSome, dropNamespace, setQuota, beginMigration, endMigration },
  ...{ addKey, importKeys, revokeKey, deleteKeys, acquireLease, releaseLease },
  ...{ beginRun, settle, mergeTwins, distil, refresh, correct, dropCandidates, evictExpired, evictExcess },
  ...{ clearArchive, endRun, beginUndo, beginRevert, undoSome },
};

export type ReadVerbs = typeof readVerbs;
export type WriteVerbs = typeof writeVerbs;

/** What a verb is called with after its `Queries` or `Transaction`. */
export type ArgumentsOf<Verb> = Verb extends (queries: never, ...args: infer Rest) => unknown ? Rest : never;
