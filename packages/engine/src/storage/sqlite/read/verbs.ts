import { readKeys } from '../../sql/api-keys.ts';
import { memories, memory, session } from '../../sql/memory-pages.ts';
import { isMigrating } from '../../sql/migration-mark.ts';
import { namespaces, namespaceUsage } from '../../sql/namespace-usage.ts';
import { leastRetainedAfter } from '../../sql/retention-order.ts';
import { changes, run, runs } from '../../sql/run-pages.ts';
import { planEvict, planMergeAfter, planSettle } from '../../sql/run-plan.ts';
import { secret } from '../../sql/secret.ts';
import { sessions } from '../../sql/session-summaries.ts';
import { readGroup } from '../../sql/source-group.ts';
import { stats, totals } from '../../sql/stats-query.ts';
import { history, textAt } from '../../sql/text-history.ts';
import { pendingEmbeddings } from './pending-embeddings.ts';

/** All reads that the read thread does, by name. Each gets `queries`, and then its arguments. */
export const readVerbs = {
  memory,
  history,
  textAt,
  memories,
  session,
  sessions,
  stats,
  totals,
  namespaces,
  namespaceUsage,
  readGroup,
  planSettle,
  planMergeAfter,
  planEvict,
  runs,
  run,
  changes,
  leastRetainedAfter,
  readKeys,
  secret,
  pendingEmbeddings,
  isMigrating,
};
export type ReadVerbs = typeof readVerbs;
