import type { TierCounts } from '@memoryd/contract';
import type { StorageStats } from '../../../ports/storage-namespaces.ts';
import type { Queries } from '../connection.ts';
import { type ChangedUntil, changedUntil } from '../models.ts';
import { type Sql, sql } from '../sql.ts';
import { tierCounts, within } from './counts.ts';

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
      (${countWaiting(these, await changedUntil(queries))}) AS "pendingEmbeddings",
      (SELECT coalesce(sum(count), 0)::bigint FROM tier_count WHERE ${these}) AS total,
      (SELECT model_id FROM embedding_model WHERE in_use) AS "modelId"`);
  const { modelId, total, ...rest } = row as NonNullable<typeof row>;
  const embedded = total - rest.pendingEmbeddings;
  return { ...rest, embedding: modelId === null ? null : { modelId, embedded, total } };
}

/** While the model in use is being changed, all that the change has not come to are taken to wait for vectors. */
function countWaiting(these: Sql, until: ChangedUntil | undefined): Sql {
  if (!until) return sql`SELECT count(*) FROM pending_embedding WHERE ${these}`;
  const place = sql`(${until.namespace}, ${until.ordinal}::bigint)`;
  return sql`
    SELECT (SELECT count(*) FROM pending_embedding WHERE ${these} AND (namespace, ordinal) <= ${place})
      + (SELECT count(*) FROM recall_entry WHERE ${these} AND (namespace, ordinal) > ${place})`;
}
