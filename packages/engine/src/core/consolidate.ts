import {
  assertValid,
  ConsolidateRequest,
  type ConsolidateResponse,
  type ConsolidationPlan,
  checkOf,
} from '@memoryd/contract';
import type { Planned } from '../ports/storage-sleep.ts';
import type { Core } from './core.ts';
import { consolidatedCount, evictedCount } from './sleep/counts.ts';

const check = checkOf(ConsolidateRequest, 'request');

/** See `MemoryApi.consolidate`. Whoever calls means now: without an age, every working memory settles. */
export async function consolidate(
  core: Core,
  namespace: string,
  request: ConsolidateRequest = {},
): Promise<ConsolidateResponse> {
  assertValid(check, request);
  const minAgeMs = (request.min_age_seconds ?? 0) * 1000;
  if (request.dry_run) return plan(core, namespace, minAgeMs);
  const run = await core.sleeper.sleep(namespace, minAgeMs);
  return {
    status: 'consolidated',
    consolidated_count: consolidatedCount(run),
    evicted_count: evictedCount(run),
    id: run.id,
    self_check: run.state === 'reverted' ? 'failed' : 'passed',
  };
}

async function plan(core: Core, namespace: string, minAgeMs: number): Promise<ConsolidateResponse> {
  const { settle, merge, distil, evict } = await core.sleeper.plan(namespace, minAgeMs);
  const plan: ConsolidationPlan = {
    settle: named(settle, ({ id }) => ({ id })),
    merge: named(merge, ({ id, mergedInto }) => ({ id, merged_into: mergedInto })),
    distil: named(distil, ({ sources, content, refreshes }) => ({
      content,
      derived_from: sources,
      ...(refreshes !== undefined && { refreshes }),
    })),
    evict: named(evict, ({ id, reason }) => ({ id, reason })),
  };
  const made = distil.items.filter(({ refreshes }) => refreshes === undefined).length;
  const counts = { settled: settle.total, distilled: made, merged: merge.total, evicted: evict.total };
  return {
    status: 'planned',
    consolidated_count: consolidatedCount({ counts }),
    evicted_count: evictedCount({ counts }),
    plan,
  };
}

function named<Item, Named>(planned: Planned<Item>, name: (item: Item) => Named): { total: number; memories: Named[] } {
  return { total: planned.total, memories: planned.items.map(name) };
}
