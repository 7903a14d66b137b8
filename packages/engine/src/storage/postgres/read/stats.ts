import type { Tier, TierCounts } from '@memoryd/contract';
import type { StorageStats } from '../../../ports/storage.ts';
import { IN_TIER } from '../../conditions.ts';
import type { Queries } from '../connection.ts';
import { raw, sql } from '../sql.ts';

/** See `Storage.stats`. The size is that of the whole database, whatever else is in it. */
export async function stats(queries: Queries, namespace: string, now: number): Promise<StorageStats> {
  const counts = await tierCounts(queries, namespace, now);
  // The newest run, not the latest: the clock may have been set back between two.
  const rest = await queries.row<Pick<StorageStats, 'sizeBytes' | 'lastSleepAt' | 'pendingEmbeddings'>>(sql`
    SELECT pg_database_size(current_database()) AS "sizeBytes",
      (SELECT ended_at FROM sleep_run WHERE namespace = ${namespace} AND ended_at IS NOT NULL ORDER BY no DESC LIMIT 1)
        AS "lastSleepAt",
      (SELECT count(*) FROM pending_embedding WHERE namespace = ${namespace}) AS "pendingEmbeddings"`);
  return { ...counts, textBytes: 0, embedding: null, sizeBytes: 0, lastSleepAt: null, pendingEmbeddings: 0, ...rest };
}

/** Live memories of a namespace. */
export async function countLive(queries: Queries, namespace: string, now: number): Promise<number> {
  const counts = await tierCounts(queries, namespace, now);
  return counts.working_count + counts.episodic_count + counts.semantic_count;
}

async function tierCounts(queries: Queries, namespace: string, now: number): Promise<TierCounts> {
  // The kept counts know nothing of the time; what has expired since is subtracted.
  const rows = await queries.rows<{ tier: Tier; count: number }>(sql`
    SELECT tier, sum(count)::bigint AS count FROM tier_count WHERE namespace = ${namespace} GROUP BY tier
    UNION ALL
    SELECT m.tier, -count(*) FROM memory m
    WHERE m.namespace = ${namespace} AND m.expires_at <= ${now} AND ${raw(IN_TIER)} GROUP BY m.tier`);
  const counts: TierCounts = { working_count: 0, episodic_count: 0, semantic_count: 0 };
  for (const { tier, count } of rows) counts[`${tier}_count`] += count;
  return counts;
}

/** See `Storage.namespaces`. */
export async function namespaces(queries: Queries): Promise<string[]> {
  const rows = await queries.rows<{ namespace: string }>(sql`
    SELECT namespace FROM tier_count t GROUP BY namespace
    HAVING sum(count) > 0 OR EXISTS (
      SELECT 1 FROM memory m WHERE m.namespace = t.namespace AND m.evicted_at IS NOT NULL)`);
  return rows.map(({ namespace }) => namespace);
}
