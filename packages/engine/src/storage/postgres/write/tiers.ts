import type { Tier } from '@memoryd/contract';
import type { Queries } from '../../sql/queries.ts';
import { sql } from '../../sql/sql.ts';
import type { Transaction } from '../connection.ts';
import { OWN_SLOT } from './slot.ts';

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
export async function countTiers(transaction: Transaction, changes: readonly TierChange[]): Promise<void> {
  if (changes.length === 0) return;
  // In one order for all, so that two of the same slot wait for each other rather than both for ever.
  await transaction.run(sql`
    INSERT INTO tier_count (namespace, tier, slot, count)
    SELECT namespace, tier, ${OWN_SLOT}, sum(count)
    FROM unnest(${changes.map((change) => change.namespace)}::text[], ${changes.map((change) => change.tier)}::text[],
      ${changes.map((change) => change.count)}::bigint[]) AS change(namespace, tier, count)
    GROUP BY namespace, tier ORDER BY namespace, tier
    ON CONFLICT (namespace, tier, slot) DO UPDATE SET count = tier_count.count + excluded.count`);
}

/** Memories of a tier, those included that are hidden only by their expiry. */
export async function countOf(queries: Queries, namespace: string, tier: Tier): Promise<number> {
  const found = await queries.row<{ count: number }>(
    sql`SELECT coalesce(sum(count), 0)::bigint AS count FROM tier_count
        WHERE namespace = ${namespace} AND tier = ${tier}`,
  );
  return found?.count ?? 0;
}
