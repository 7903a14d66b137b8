import { setTimeout as delay } from 'node:timers/promises';
import type { MemoryApi, StatsResponse } from '@memoryd/contract';
import { LRUCache } from 'lru-cache';
import type { Caller } from '../caller.ts';

/** Age in ms from which statistics are read again. */
const MAX_AGE_MS = 1000;

/** Maximum wait in ms for statistics that are being read. */
const MAX_WAIT_MS = 100;

/** Maximum number of callers whose statistics are cached. */
const MAX_CALLERS = 1000;

/**
 * Creates a function that returns the statistics of a caller within a tenth of a second, even if the database does not
 * answer. The statistics are then the last ones that were read, or undefined before the first. For each caller, at most
 * one read is in progress.
 */
export function createRecentStats(): (caller: Caller, api: MemoryApi) => Promise<StatsResponse | undefined> {
  const cache = new LRUCache<string, StatsResponse, MemoryApi>({
    max: MAX_CALLERS,
    ttl: MAX_AGE_MS,
    noDeleteOnFetchRejection: true,
    fetchMethod: (_key, _stale, { context }) => context.stats(),
  });
  return async ({ namespace, scope, userId, agentId }, api) => {
    const key = JSON.stringify([namespace, scope, userId, agentId]);
    // A failure shows in the state of the database.
    const read = cache.fetch(key, { context: api }).catch(() => undefined);
    const newest = await Promise.race([read, delay(MAX_WAIT_MS, undefined, { ref: false })]);
    return newest ?? cache.get(key, { allowStale: true });
  };
}
