import type { TierCounts } from '@memoryd/contract';
import type { StorageStats } from '../../../ports/storage-namespaces.ts';
import { type Connection, sql } from '../connection.ts';
import { modelInUse } from '../models.ts';
import { tierCounts, usage } from './counts.ts';

/** What `Storage.stats` answers, but for the size of the file. */
export function stats(connection: Connection, namespace: string, now: number): Omit<StorageStats, 'sizeBytes'> {
  // The newest, not the latest: the clock may have been set back between two runs.
  const lastSleepAt = sql(
    connection,
    'SELECT ended_at FROM sleep_run WHERE namespace = ? AND ended_at IS NOT NULL ORDER BY no DESC LIMIT 1',
  )
    .pluck()
    .get(namespace);
  const pendingEmbeddings = sql(connection, 'SELECT count(*) FROM pending_embedding WHERE namespace = ?')
    .pluck()
    .get(namespace) as number;
  const total = sql(connection, 'SELECT coalesce(sum(count), 0) FROM tier_count WHERE namespace = ?')
    .pluck()
    .get(namespace) as number;
  return {
    ...tierCounts(connection, namespace, now),
    textBytes: usage(connection, namespace).bytes,
    lastSleepAt: (lastSleepAt as number | undefined) ?? null,
    pendingEmbeddings,
    embedding: embedding(connection, total, pendingEmbeddings),
  };
}

/** What `Storage.totals` answers, but for the size of the file. */
export function totals(connection: Connection, now: number): Omit<StorageStats, 'sizeBytes'> {
  const counts: TierCounts = { working_count: 0, episodic_count: 0, semantic_count: 0 };
  for (const namespace of countedNamespaces(connection)) addCounts(counts, tierCounts(connection, namespace, now));
  const rest = sql(
    connection,
    `SELECT (SELECT coalesce(sum(bytes), 0) FROM namespace_usage) AS textBytes,
       (SELECT ended_at FROM sleep_run WHERE ended_at IS NOT NULL ORDER BY no DESC LIMIT 1) AS lastSleepAt,
       (SELECT count(*) FROM pending_embedding) AS pendingEmbeddings`,
  ).get() as Pick<StorageStats, 'textBytes' | 'lastSleepAt' | 'pendingEmbeddings'>;
  const total = sql(connection, 'SELECT coalesce(sum(count), 0) FROM tier_count').pluck().get() as number;
  return { ...counts, ...rest, embedding: embedding(connection, total, rest.pendingEmbeddings) };
}

/** How many of the memories in a tier have their vectors. */
function embedding(connection: Connection, total: number, pending: number): StorageStats['embedding'] {
  const model = modelInUse(connection);
  return model ? { modelId: model.modelId, embedded: total - pending, total } : null;
}

function countedNamespaces(connection: Connection): string[] {
  return sql(connection, 'SELECT DISTINCT namespace FROM tier_count WHERE count > 0').pluck().all() as string[];
}

function addCounts(counts: TierCounts, more: TierCounts): void {
  for (const tier of Object.keys(counts) as (keyof TierCounts)[]) counts[tier] += more[tier];
}
