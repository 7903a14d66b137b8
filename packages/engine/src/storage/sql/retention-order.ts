import type { Tier } from '@memoryd/contract';
import type { Position } from '../../ports/page.ts';
import { IN_TIER } from '../conditions.ts';
import { type LeastRetained, RANKED_AT_ONCE, type Rankable, rank } from '../least-retained.ts';
import { MEMORY_TABLES, notExpired, RETAINABLE_COLUMNS } from './memory-columns.ts';
import type { Queries } from './queries.ts';
import { raw, sql } from './sql.ts';

/**
 * Returns the least retained among some of a tier's live memories, in the order of their creation; `next` is the place to
 * go on from, absent at the end of the tier.
 */
export async function leastRetainedAfter(
  queries: Queries,
  namespace: string,
  tier: Tier,
  after: Position | undefined,
  count: number,
  now: number,
): Promise<LeastRetained> {
  const place = after
    ? sql`AND (m.created_at, m.ordinal) > (CAST(${after.createdAt} AS bigint), CAST(${after.ordinal} AS bigint))`
    : raw('');
  const rows = await queries.rows<Rankable>(sql`
    SELECT m.ordinal, m.id, m.created_at AS "createdAt", ${RETAINABLE_COLUMNS} FROM ${MEMORY_TABLES}
    WHERE m.namespace = ${namespace} AND m.tier = ${tier} AND ${raw(IN_TIER)} AND ${notExpired(now)} ${place}
    ORDER BY m.created_at, m.ordinal LIMIT ${RANKED_AT_ONCE}`);
  return rank(rows, count, now);
}
