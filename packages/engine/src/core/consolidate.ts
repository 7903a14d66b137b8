import { assertValid, ConsolidateRequest, type ConsolidateResponse, checkOf } from '@memoryd/contract';
import type { Core } from './core.ts';
import { consolidatedCount, evictedCount } from './sleeper.ts';

const check = checkOf(ConsolidateRequest, 'request');

/** See `MemoryApi.consolidate`. Whoever calls means now: without an age, every working memory settles. */
export async function consolidate(
  core: Core,
  namespace: string,
  request: ConsolidateRequest = {},
): Promise<ConsolidateResponse> {
  assertValid(check, request);
  const run = await core.sleeper.sleep(namespace, (request.min_age_seconds ?? 0) * 1000);
  return {
    status: 'consolidated',
    consolidated_count: consolidatedCount(run),
    evicted_count: evictedCount(run),
  };
}
