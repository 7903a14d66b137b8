import type { Tier } from '@memoryd/contract';
import type { Position } from '../../../ports/page.ts';
import { IN_TIER } from '../../conditions.ts';
import { type LeastRetained, RANKED_AT_ONCE, type Rankable, rank } from '../../least-retained.ts';
import type { Queries } from '../connection.ts';
import { MEMORY_TABLES, notExpired, RETAINABLE_COLUMNS } from '../row.ts';
import { raw, sql } from '../sql.ts';

/** The least retained among some of a tier's live memories, in the order of their creation. */
export async function leastRetainedAfter(
  queries: Queries,
  namespace: string,
  tier: Tier,
  after: Position | undefined,
  count: number,
  now: number,
): Promise<LeastRetained> {
  const place = after
    ? sql`AND (m.created_at, m.ordinal) > (${after.createdAt}::bigint, ${after.ordinal}::bigint)`
    : raw('');
  const rows = await queries.rows<Rankable>(sql`
    SELECT m.ordinal, m.id, m.created_at AS "createdAt", ${RETAINABLE_COLUMNS} FROM ${MEMORY_TABLES}
    WHERE m.namespace = ${namespace} AND m.tier = ${tier} AND ${raw(IN_TIER)} AND ${notExpired(now)} ${place}
    ORDER BY m.created_at, m.ordinal LIMIT ${RANKED_AT_ONCE}`);
  return rank(rows, count, now);
}
