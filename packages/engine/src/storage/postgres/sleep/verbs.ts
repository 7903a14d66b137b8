import type { Storage } from '../../../ports/storage.ts';
import { leastRetained } from '../../least-retained.ts';
import { planMerge } from '../../plan.ts';
import { clearArchive } from '../../sql/clear-archive.ts';
import { correct, distil, dropCandidates, refresh } from '../../sql/distil-groups.ts';
import { evictExcess, evictExpired } from '../../sql/evict.ts';
import { mergeTwins } from '../../sql/merge-duplicates.ts';
import type { Queries } from '../../sql/queries.ts';
import { leastRetainedAfter } from '../../sql/retention-order.ts';
import { beginRun, endRun } from '../../sql/run.ts';
import { changes, run, runs } from '../../sql/run-pages.ts';
import { planEvict, planMergeAfter, planSettle } from '../../sql/run-plan.ts';
import { settle } from '../../sql/settle.ts';
import { readGroup } from '../../sql/source-group.ts';
import { beginRevert, beginUndo, undoSome } from '../../sql/undo-run.ts';
import type { Connection } from '../connection.ts';
import type { Transaction } from '../transaction.ts';
import type { VacuumRequests } from '../write/vacuum.ts';

/** What runs of consolidation do, tell and take back. A step has its namespace for itself, and is one transaction. */
export function sleepVerbs(connection: Connection, { vacuum }: { vacuum: VacuumRequests }) {
  const step = <T>(namespace: string, work: (transaction: Transaction) => Promise<T>) =>
    connection.write({ exclusive: namespace }, work);
  const snapshot = <T>(read: (queries: Queries) => Promise<T>) => connection.snapshot(read);
  return {
    beginRun: (namespace, begin) => step(namespace, (transaction) => beginRun(transaction, namespace, begin)),
    settle: (run, ...args) => step(run.namespace, (transaction) => settle(transaction, run, ...args)),
    mergeTwins: (run, limit) => step(run.namespace, (transaction) => mergeTwins(transaction, run, limit)),
    readGroup: (request) => snapshot((queries) => readGroup(queries, request)),
    distil: (run, memory) => step(run.namespace, (transaction) => distil(transaction, run, memory)),
    refresh: (run, memory) => step(run.namespace, (transaction) => refresh(transaction, run, memory)),
    correct: (run, correction) => step(run.namespace, (transaction) => correct(transaction, run, correction)),
    dropCandidates: (run, memories) => step(run.namespace, (transaction) => dropCandidates(transaction, run, memories)),
    evictExpired: (run, ...args) => step(run.namespace, (transaction) => evictExpired(transaction, run, ...args)),
    evictExcess: (run, ...args) => step(run.namespace, (transaction) => evictExcess(transaction, run, ...args)),
    async clearArchive(run, ...args) {
      const cleared = await step(run.namespace, (transaction) => clearArchive(transaction, run, ...args));
      if (cleared.count > 0) vacuum.request();
      return cleared;
    },
    endRun: (run, ...args) => step(run.namespace, (transaction) => endRun(transaction, run, ...args)),
    leastRetained: (namespace, tier, count, now) =>
      leastRetained((after) => leastRetainedAfter(connection, namespace, tier, after, count, now), count),
    planSettle: (...args) => snapshot((queries) => planSettle(queries, ...args)),
    planMerge: (namespace, now, most) =>
      planMerge((after, left) => snapshot((queries) => planMergeAfter(queries, namespace, now, after, left)), most),
    planEvict: (...args) => snapshot((queries) => planEvict(queries, ...args)),
    runs: (...args) => snapshot((queries) => runs(queries, ...args)),
    run: (...args) => run(connection, ...args),
    changes: (...args) => snapshot((queries) => changes(queries, ...args)),
    beginUndo: (namespace, ...args) => step(namespace, (transaction) => beginUndo(transaction, namespace, ...args)),
    beginRevert: (run, notes) => step(run.namespace, (transaction) => beginRevert(transaction, run, notes)),
    undoSome: (run, ...args) => step(run.namespace, (transaction) => undoSome(transaction, run, ...args)),
  } satisfies Partial<Storage>;
}
