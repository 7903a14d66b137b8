import { isMigrating } from '../write/migration.ts';
import { readGroup } from './group.ts';
import { history, textAt } from './history.ts';
import { readKeys } from './keys.ts';
import { leastRetainedAfter } from './least-retained.ts';
import { memories, memory } from './memories.ts';
import { namespaces, namespaceUsage } from './namespaces.ts';
import { pendingEmbeddings } from './pending-embeddings.ts';
import { planEvict, planMergeAfter, planSettle } from './plan.ts';
import { changes, run, runs } from './runs.ts';
import { secret } from './secret.ts';
import { session } from './session.ts';
import { sessions } from './sessions.ts';
import { stats, totals } from './stats.ts';

/** Everything that the read thread can be asked, by name. */
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
  pendingEmbeddings,
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
  isMigrating,
};
export type ReadVerbs = typeof readVerbs;
