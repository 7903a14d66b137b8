import type { Tier } from '@memoryd/contract';
import type { Queries } from './queries.ts';
import { sql } from './sql.ts';

/** So many memories more in a tier of a namespace, or fewer. */
export interface TierChange {
  namespace: string;
  tier: Tier;
  count: number;
}

const COLUMNS = { namespace: 'text', tier: 'text', count: 'bigint' } as const;
const ADD_UP = sql`ON CONFLICT (namespace, tier, slot) DO UPDATE SET count = tier_count.count + excluded.count`;

/**
 * Adds to the kept counts of tiers. To be called by whatever lets memories into a tier or takes them out: storing,
 * forgetting, settling, merging, setting free, evicting, and taking these back.
 */
export async function countTiers(queries: Queries, changes: readonly TierChange[]): Promise<void> {
  const sums = new Map<string, TierChange>();
  for (const change of changes) {
    const key = `${change.tier} ${change.namespace}`;
    sums.set(key, { ...change, count: change.count + (sums.get(key)?.count ?? 0) });
  }
  await queries.insert('tier_count', COLUMNS, inOrder(sums), ADD_UP);
}

/** Memories of a tier, those included that are hidden only by their expiry. */
export async function countOf(queries: Queries, namespace: string, tier: Tier): Promise<number> {
  const found = await queries.row<{ count: number }>(
    sql`SELECT CAST(coalesce(sum(count), 0) AS bigint) AS count FROM tier_count
        WHERE namespace = ${namespace} AND tier = ${tier}`,
  );
  return found?.count ?? 0;
}

/** Returns values by their keys in one order for all, so that two transactions wait for each other in one direction. */
export function inOrder<T>(values: ReadonlyMap<string, T>): T[] {
  return [...values].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, value]) => value);
}
