import type { TierCounts } from '@memoryd/contract';
import type { StorageStats } from '../../ports/storage-namespaces.ts';
import { type ChangedUntil, changedUntil } from './models.ts';
import type { Queries } from './queries.ts';
import { type Sql, sql } from './sql.ts';
import { tierCounts, within } from './tier-counts.ts';

/** The counts of a database, without its size, which each database knows in its own way. */
export type Counted = Omit<StorageStats, 'sizeBytes'>;

/** See `Storage.stats`. To be asked in a snapshot. */
export async function stats(queries: Queries, namespace: string, now: number): Promise<Counted> {
  return { ...(await tierCounts(queries, now, namespace)), ...(await facts(queries, namespace)) };
}

/** See `Storage.totals`. To be asked in a snapshot. */
export async function totals(queries: Queries, now: number): Promise<Counted> {
  return { ...(await tierCounts(queries, now)), ...(await facts(queries)) };
}

type Facts = Omit<Counted, keyof TierCounts>;

/** Returns what is known beside the counts, of one namespace or of all. */
async function facts(queries: Queries, namespace?: string): Promise<Facts> {
  const these = within(namespace);
  // The newest run, not the latest: the clock may have been set back between two.
  const row = await queries.row<Omit<Facts, 'embedding'> & { modelId: string | null; total: number }>(sql`
    SELECT (SELECT CAST(coalesce(sum(bytes), 0) AS bigint) FROM namespace_usage WHERE ${these}) AS "textBytes",
      (SELECT ended_at FROM sleep_run WHERE ${these} AND ended_at IS NOT NULL ORDER BY no DESC LIMIT 1)
        AS "lastSleepAt",
      (${countWaiting(these, await changedUntil(queries))}) AS "pendingEmbeddings",
      (SELECT CAST(coalesce(sum(count), 0) AS bigint) FROM tier_count WHERE ${these}) AS total,
      (SELECT model_id FROM embedding_model WHERE in_use) AS "modelId"`);
  const { modelId, total, ...rest } = row as NonNullable<typeof row>;
  const embedded = total - rest.pendingEmbeddings;
  return { ...rest, embedding: modelId === null ? null : { modelId, embedded, total } };
}

/**
 * Returns a query for how many memories wait for vectors. While PostgreSQL changes the model in use a part at a time, those
 * that the change has not reached wait too.
 */
function countWaiting(these: Sql, until: ChangedUntil | undefined): Sql {
  if (!until) return sql`SELECT count(*) FROM pending_embedding WHERE ${these}`;
  const place = sql`(${until.namespace}, CAST(${until.ordinal} AS bigint))`;
  return sql`
    SELECT (SELECT count(*) FROM pending_embedding WHERE ${these} AND (namespace, ordinal) <= ${place})
      + (SELECT count(*) FROM recall_entry WHERE ${these} AND (namespace, ordinal) > ${place})`;
}
