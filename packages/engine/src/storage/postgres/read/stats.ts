import type { Tier, TierCounts } from '@memoryd/contract';
import type { StorageStats } from '../../../ports/storage.ts';
import { IN_TIER } from '../../conditions.ts';
import type { Queries } from '../connection.ts';
import { raw, type Sql, sql } from '../sql.ts';

/** See `Storage.stats`. The size is that of the whole database, whatever else is in it. To be asked in a snapshot. */
export async function stats(queries: Queries, namespace: string, now: number): Promise<StorageStats> {
  return { ...(await tierCounts(queries, now, namespace)), ...(await facts(queries, namespace)) };
}

/** See `Storage.totals`. To be asked in a snapshot. */
export async function totals(queries: Queries, now: number): Promise<StorageStats> {
  return { ...(await tierCounts(queries, now)), ...(await facts(queries)) };
}

type Facts = Omit<StorageStats, keyof TierCounts>;

/** What is known beside the counts, of one namespace or of all. */
async function facts(queries: Queries, namespace?: string): Promise<Facts> {
  const these = within(namespace);
  // The newest run, not the latest: the clock may have been set back between two.
  const row = await queries.row<Omit<Facts, 'embedding'> & { modelId: string | null; total: number }>(sql`
    SELECT pg_database_size(current_database()) AS "sizeBytes",
      (SELECT coalesce(sum(bytes), 0)::bigint FROM namespace_usage WHERE ${these}) AS "textBytes",
      (SELECT ended_at FROM sleep_run WHERE ${these} AND ended_at IS NOT NULL ORDER BY no DESC LIMIT 1)
        AS "lastSleepAt",
      (SELECT count(*) FROM pending_embedding WHERE ${these}) AS "pendingEmbeddings",
      (SELECT coalesce(sum(count), 0)::bigint FROM tier_count WHERE ${these}) AS total,
      (SELECT model_id FROM embedding_model WHERE in_use) AS "modelId"`);
  const { modelId, total, ...rest } = row as NonNullable<typeof row>;
  const embedded = total - rest.pendingEmbeddings;
  return { ...rest, embedding: modelId === null ? null : { modelId, embedded, total } };
}

/** Live memories of a namespace. */
export async function countLive(queries: Queries, namespace: string, now: number): Promise<number> {
  const counts = await tierCounts(queries, now, namespace);
  return counts.working_count + counts.episodic_count + counts.semantic_count;
}

async function tierCounts(queries: Queries, now: number, namespace?: string): Promise<TierCounts> {
  const counts = noCounts();
  for (const { tier, count } of await countTiersOf(queries, now, namespace)) counts[`${tier}_count`] += count;
  return counts;
}

/** Live memories by tier, of every namespace that has had any. */
export async function countsByNamespace(queries: Queries, now: number): Promise<Map<string, TierCounts>> {
  const all = new Map<string, TierCounts>();
  for (const { namespace, tier, count } of await countTiersOf(queries, now)) {
    const counts = all.get(namespace) ?? noCounts();
    counts[`${tier}_count`] += count;
    all.set(namespace, counts);
  }
  return all;
}

export function noCounts(): TierCounts {
  return { working_count: 0, episodic_count: 0, semantic_count: 0 };
}

/** Parts of the live memories in the tiers of one namespace or of all, some of them negative. */
function countTiersOf(queries: Queries, now: number, namespace?: string) {
  const these = within(namespace);
  // The kept counts know nothing of the time; what has expired since is subtracted.
  return queries.rows<{ namespace: string; tier: Tier; count: number }>(sql`
    SELECT namespace, tier, sum(count)::bigint AS count FROM tier_count WHERE ${these} GROUP BY namespace, tier
    UNION ALL
    SELECT namespace, tier, -count(*) FROM memory m
    WHERE ${these} AND m.expires_at <= ${now} AND ${raw(IN_TIER)} GROUP BY namespace, tier`);
}

/** A condition: one namespace, or any. */
function within(namespace: string | undefined): Sql {
  return namespace === undefined ? raw('true') : sql`namespace = ${namespace}`;
}

/** See `Storage.namespaces`. */
export async function namespaces(queries: Queries): Promise<string[]> {
  const rows = await queries.rows<{ namespace: string }>(sql`
    SELECT namespace FROM tier_count t GROUP BY namespace
    HAVING sum(count) > 0 OR EXISTS (
      SELECT 1 FROM memory m WHERE m.namespace = t.namespace AND m.evicted_at IS NOT NULL)`);
  return rows.map(({ namespace }) => namespace);
}
