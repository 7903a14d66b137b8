import type { Tier } from '@memoryd/contract';
import type { Position } from '../../../ports/page.ts';
import { IN_TIER } from '../../conditions.ts';
import { type LeastRetained, RANKED_AT_ONCE, type Rankable, rank } from '../../least-retained.ts';
import { type Connection, sql } from '../connection.ts';
import { MEMORY_TABLES, NOT_EXPIRED, RETAINABLE_COLUMNS } from '../row.ts';

/**
 * The least retained among some of a tier's live memories, in the order of their creation; `next` is after which of
 * them to go on, absent at the end of the tier.
 */
export function leastRetainedAfter(
  connection: Connection,
  namespace: string,
  tier: Tier,
  after: Position | undefined,
  count: number,
  now: number,
): LeastRetained {
  const place = after ? 'AND (m.created_at, m.ordinal) > (@createdAt, @ordinal)' : '';
  const rows = sql(
    connection,
    `SELECT m.ordinal, m.id, m.created_at AS createdAt, ${RETAINABLE_COLUMNS} FROM ${MEMORY_TABLES}
     WHERE m.namespace = @namespace AND m.tier = @tier AND ${IN_TIER} AND ${NOT_EXPIRED} ${place}
     ORDER BY m.created_at, m.ordinal LIMIT ${RANKED_AT_ONCE}`,
  ).all({ namespace, tier, now, ...after }) as Rankable[];
  return rank(rows, count, now);
}
