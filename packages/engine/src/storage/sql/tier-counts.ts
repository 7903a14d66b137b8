import type { Tier, TierCounts } from '@memoryd/contract';
import { IN_TIER } from '../conditions.ts';
import type { Queries } from './queries.ts';
import { raw, type Sql, sql } from './sql.ts';

/** Live memories of a namespace. */
export async function countLive(queries: Queries, namespace: string, now: number): Promise<number> {
  const counts = await tierCounts(queries, now, namespace);
  return counts.working_count + counts.episodic_count + counts.semantic_count;
}

/** Live memories by tier, of one namespace or of all. */
export async function tierCounts(queries: Queries, now: number, namespace?: string): Promise<TierCounts> {
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
    SELECT namespace, tier, CAST(sum(count) AS bigint) AS count FROM tier_count WHERE ${these} GROUP BY namespace, tier
    UNION ALL
    SELECT m.namespace, m.tier, -count(*)
    FROM (SELECT DISTINCT namespace FROM tier_count WHERE ${these}) AS counted
    CROSS JOIN memory m ${queries.dialect.indexedBy('memory_expiring')}
    WHERE m.namespace = counted.namespace AND m.expires_at <= ${now} AND ${raw(IN_TIER)}
    GROUP BY m.namespace, m.tier`);
}

/** A condition: one namespace, or any. */
export function within(namespace: string | undefined): Sql {
  return namespace === undefined ? raw('true') : sql`namespace = ${namespace}`;
}
