import type { Tier } from '@memoryd/contract';
import { type Connection, sql } from '../connection.ts';

/** A memory that was inserted, as it is counted. */
export interface Arrival {
  tier: Tier;
  evictedAt: number | null;
  /** Of the text, if a client gave it. */
  bytes: number;
}

/**
 * Adds to what a namespace is counted to hold and to use. To be called by whatever inserts memories, before they change
 * again, with all that it inserts; triggers count what becomes of them later.
 */
export function countArrivals(connection: Connection, namespace: string, arrivals: readonly Arrival[]): void {
  const tiers = arrivals.filter(({ evictedAt }) => evictedAt === null).map(({ tier }) => tier);
  for (const tier of new Set(tiers)) {
    sql(
      connection,
      'INSERT INTO tier_count VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count',
    ).run(namespace, tier, tiers.filter((other) => other === tier).length);
  }
  const given = arrivals.filter(({ tier }) => tier !== 'semantic').length;
  const bytes = arrivals.reduce((sum, arrival) => sum + arrival.bytes, 0);
  sql(
    connection,
    `INSERT INTO namespace_usage VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET memories = memories + excluded.memories, bytes = bytes + excluded.bytes`,
  ).run(namespace, given, bytes);
}
