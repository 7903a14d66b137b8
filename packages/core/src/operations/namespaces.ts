import {
  assertNamespace,
  assertValid,
  createCheck,
  invalidRequest,
  isStorable,
  MemoryError,
  NamespaceQuota,
  type Scope,
  ScopeRequest,
  type StatsResponse,
  UserPath,
} from '@memoryd/contract';
import { isLimited } from '@memoryd/search';
import type { Namespaces } from '../ports/administration.ts';
import type { Clock } from '../ports/runtime.ts';
import type { Storage } from '../ports/storage.ts';
import type { StorageStats } from '../ports/storage-namespaces.ts';
import { toOwnerFilter } from '../request-filter.ts';
import { toTimestampOrNull } from '../time.ts';
import type { Core } from './core.ts';

const BYTES_PER_MB = 1_000_000;

const checkUser = createCheck(UserPath, 'path');
const checkQuota = createCheck(NamespaceQuota, 'quota');
const checkScope = createCheck(ScopeRequest, 'request');

/**
 * Throws INVALID_REQUEST for a name that cannot be stored. Accepts all other names, since older databases may have
 * namespaces whose names are no longer allowed for new API keys.
 */
export function assertKeepableNamespace(namespace: string): void {
  if (isStorable(namespace)) return;
  throw invalidRequest([{ path: '/namespace', message: 'namespace must not contain U+0000 or a lone surrogate' }]);
}

/**
 * See `Namespaces`.
 *
 * @param onDeleted called when a namespace has been deleted
 */
export function getNamespaces(storage: Storage, clock: Clock, onDeleted?: (name: string) => void): Namespaces {
  async function exists(name: string): Promise<boolean> {
    return (await storage.usage(clock.now())).some((namespace) => namespace.name === name);
  }

  return {
    async list() {
      const usages = await storage.usage(clock.now());
      return usages.map(({ name, counts, used, quota, keys }) => ({ name, ...counts, ...used, quota, keys }));
    },
    async delete(name) {
      if (!(await exists(name))) {
        const message = 'namespace not found; `memoryd namespaces list` lists the existing ones';
        throw new MemoryError('NOT_FOUND', message);
      }
      const { count, purged } = await storage.deleteNamespace(name).finally(() => onDeleted?.(name));
      return { deleted_count: count, ...(!purged && { purge: 'pending' as const }) };
    },
    async setQuota(name, quota) {
      assertKeepableNamespace(name);
      try {
        assertNamespace(name);
      } catch (error) {
        // A name that is not allowed for new keys is accepted only for an existing namespace; otherwise it is a typing
        // error.
        if (!(await exists(name))) throw error;
      }
      assertValid(checkQuota, quota);
      await storage.setQuota(name, quota);
    },
    async userQuota(name, userId) {
      const { memories = null, bytes = null } =
        (await storage.userQuotas(name)).find((quota) => quota.userId === userId) ?? {};
      return { memories, bytes };
    },
    async setUserQuota(name, userId, quota) {
      assertKeepableNamespace(name);
      assertValid(checkUser, { user_id: userId });
      assertValid(checkQuota, quota);
      await storage.setUserQuota(name, userId, quota);
    },
    async totals() {
      return toStats(await storage.totals(clock.now()));
    },
  };
}

/**
 * See `MemoryApi.stats`. `db_size_mb` is the size of the texts, instead of the database, for callers without the scope
 * `operate` and for a request that is limited to a user or an agent.
 */
export async function stats(
  core: Core,
  namespace: string,
  scope: Scope,
  request: ScopeRequest = {},
): Promise<StatsResponse> {
  assertValid(checkScope, request);
  const now = core.clock.now();
  const of = toOwnerFilter(request);
  const stats = await core.storage.stats(namespace, now, of);
  return {
    ...toScopedStats(stats, isLimited(of) ? 'read' : scope),
    next_sleep_at: toTimestampOrNull(getNextSleepAt(stats.lastSleepAt, core.consolidationIntervalMs, now)),
  };
}

/**
 * Returns the time of the next scheduled run; null without a schedule. Without an earlier run, or if the last run is in
 * the future because the clock was set back, the next run is due now. A time in the past means that the run is overdue.
 */
function getNextSleepAt(lastSleepAt: number | null, intervalMs: number, now: number): number | null {
  if (intervalMs === 0) return null;
  return lastSleepAt === null || lastSleepAt > now ? now : lastSleepAt + intervalMs;
}

/**
 * Converts statistics for a caller. For callers without the scope `operate`, `db_size_mb` is the size of the texts, and
 * `token_states_cache` is absent.
 */
export function toScopedStats(stats: StorageStats, scope: Scope): StatsResponse {
  if (scope !== 'operate') return toStats(stats, stats.textBytes);
  const { cachedStates: cached } = stats;
  return {
    ...toStats(stats),
    ...(cached && {
      token_states_cache: { memories: cached.memories, bytes: cached.bytes, max_bytes: cached.maxBytes },
    }),
  };
}

function toStats(stats: StorageStats, sizeBytes = stats.sizeBytes): StatsResponse {
  const { lastSleepAt, pendingEmbeddings, embedding } = stats;
  return {
    working_count: stats.working_count,
    episodic_count: stats.episodic_count,
    semantic_count: stats.semantic_count,
    current_count: stats.current_count,
    superseded_count: stats.superseded_count,
    ended_count: stats.ended_count,
    db_size_mb: sizeBytes / BYTES_PER_MB,
    last_sleep_at: toTimestampOrNull(lastSleepAt),
    pending_embeddings: pendingEmbeddings,
    ...(embedding && {
      embedding: { model: embedding.modelId, embedded: embedding.embedded, total: embedding.total },
    }),
  };
}
