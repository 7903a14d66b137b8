import type { TierCounts } from '@memoryd/contract';
import type { Quota } from '../../../ports/storage-namespaces.ts';
import { IN_TIER } from '../../conditions.ts';
import { type Connection, sql } from '../connection.ts';

/** Live memories of a namespace. */
export function countLive(connection: Connection, namespace: string, now: number): number {
  const counts = tierCounts(connection, namespace, now);
  return counts.working_count + counts.episodic_count + counts.semantic_count;
}

/** Live memories of a namespace by tier. */
export function tierCounts(connection: Connection, namespace: string, now: number): TierCounts {
  const counts: TierCounts = { working_count: 0, episodic_count: 0, semantic_count: 0 };
  // The kept counts know nothing of the time; what has expired since is subtracted.
  const rows = sql(
    connection,
    `SELECT tier, count FROM tier_count WHERE namespace = @namespace
     UNION ALL
     SELECT tier, -count(*) FROM memory m INDEXED BY memory_expiring
     WHERE namespace = @namespace AND expires_at <= @now AND ${IN_TIER} GROUP BY tier`,
  ).all({ namespace, now }) as { tier: 'working' | 'episodic' | 'semantic'; count: number }[];
  for (const { tier, count } of rows) counts[`${tier}_count`] += count;
  return counts;
}

/** What clients gave a namespace and nobody has erased. */
export function usage(connection: Connection, namespace: string): Quota {
  const row = sql(connection, 'SELECT memories, bytes FROM namespace_usage WHERE namespace = ?').get(namespace);
  return (row as Quota | undefined) ?? { memories: 0, bytes: 0 };
}
