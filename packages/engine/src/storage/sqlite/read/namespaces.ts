import type { NamespaceQuota } from '@memoryd/contract';
import type { NamespaceUsage } from '../../../ports/storage-namespaces.ts';
import { type Connection, sql } from '../connection.ts';
import { tierCounts, usage } from './counts.ts';

/** See `Storage.namespaces`. */
export function namespaces(connection: Connection): string[] {
  return sql(
    connection,
    `SELECT DISTINCT namespace FROM tier_count t WHERE count > 0 OR EXISTS (
       SELECT 1 FROM memory m INDEXED BY memory_evicted WHERE m.namespace = t.namespace AND m.evicted_at IS NOT NULL)`,
  )
    .pluck()
    .all() as string[];
}

/** See `Storage.usage`. */
export function namespaceUsage(connection: Connection, now: number): NamespaceUsage[] {
  const names = sql(
    connection,
    `SELECT namespace FROM namespace_usage WHERE memories > 0 OR bytes > 0
     UNION SELECT namespace FROM tier_count WHERE count > 0
     UNION SELECT namespace FROM sleep_run
     UNION SELECT namespace FROM namespace_quota
     UNION SELECT namespace FROM api_key
     ORDER BY namespace`,
  )
    .pluck()
    .all() as string[];
  return names.map((name) => ({
    name,
    counts: tierCounts(connection, name, now),
    used: usage(connection, name),
    quota: ownQuota(connection, name),
    keys: goodKeys(connection, name),
  }));
}

/** What a namespace may hold by a word of its own. */
export function ownQuota(connection: Connection, namespace: string): NamespaceQuota {
  const row = sql(connection, 'SELECT memories, bytes FROM namespace_quota WHERE namespace = ?').get(namespace);
  return (row as NamespaceQuota | undefined) ?? { memories: null, bytes: null };
}

function goodKeys(connection: Connection, namespace: string): number {
  return sql(connection, 'SELECT count(*) FROM api_key WHERE namespace = ? AND revoked_at IS NULL')
    .pluck()
    .get(namespace) as number;
}
