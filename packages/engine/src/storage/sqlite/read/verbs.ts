import { readGroup } from '../sleep/group.ts';
import { leastRetainedAfter } from '../sleep/least-retained.ts';
import { planEvict, planMergeAfter, planSettle } from '../sleep/plan.ts';
import { changes, run, runs } from '../sleep/runs.ts';
import { isMigrating } from '../write/migration.ts';
import { history, textAt } from './history.ts';
import { readKeys } from './keys.ts';
import { memories, memory } from './memories.ts';
import { namespaces, namespaceUsage } from './namespaces.ts';
import { pendingEmbeddings } from './pending-embeddings.ts';
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
