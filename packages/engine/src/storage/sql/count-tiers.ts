import type { Tier } from '@memoryd/contract';
import type { Queries } from './queries.ts';
import { sql } from './sql.ts';

/** So many memories more in a tier of a namespace, or fewer. */
export interface TierChange {
  namespace: string;
  tier: Tier;
  count: number;
}

/**
 * Adds to the kept counts of tiers. To be called by whatever lets memories into a tier or takes them out: storing,
 * forgetting, settling, merging, setting free, evicting, and taking these back.
 */
export async function countTiers(queries: Queries, changes: readonly TierChange[]): Promise<void> {
  if (changes.length === 0) return;
  const { dialect } = queries;
  const records = dialect.records('change', { namespace: 'text', tier: 'text', count: 'bigint' }, changes);
  // In one order for all, so that two of the same slot wait for each other rather than both for ever.
  await queries.run(sql`
    INSERT INTO tier_count (namespace, tier, slot, count)
    SELECT namespace, tier, ${dialect.ownSlot}, sum(count) FROM ${records} WHERE true
    GROUP BY namespace, tier ORDER BY namespace, tier
    ON CONFLICT (namespace, tier, slot) DO UPDATE SET count = tier_count.count + excluded.count`);
}

/** Memories of a tier, those included that are hidden only by their expiry. */
export async function countOf(queries: Queries, namespace: string, tier: Tier): Promise<number> {
  const found = await queries.row<{ count: number }>(
    sql`SELECT CAST(coalesce(sum(count), 0) AS bigint) AS count FROM tier_count
        WHERE namespace = ${namespace} AND tier = ${tier}`,
  );
  return found?.count ?? 0;
}
