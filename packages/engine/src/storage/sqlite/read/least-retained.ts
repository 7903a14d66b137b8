import type { Tier } from '@memoryd/contract';
import { type Retainable, retentionOf } from '../../../core/retention.ts';
import type { Position, RetainedMemory } from '../../../ports/storage.ts';
import { IN_TIER } from '../../conditions.ts';
import { type Connection, sql } from '../connection.ts';
import { MEMORY_TABLES, NOT_EXPIRED, RETAINABLE_COLUMNS } from '../row.ts';

/** Memories that one reading goes through, so that other reads get their turn between two. */
const RANKED_AT_ONCE = 10_000;

type Row = Retainable & Position & { id: string };

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
): { least: RetainedMemory[]; next?: Position } {
  const place = after ? 'AND (m.created_at, m.ordinal) > (@createdAt, @ordinal)' : '';
  const rows = sql(
    connection,
    `SELECT m.ordinal, m.id, m.created_at AS createdAt, ${RETAINABLE_COLUMNS} FROM ${MEMORY_TABLES}
     WHERE m.namespace = @namespace AND m.tier = @tier AND ${IN_TIER} AND ${NOT_EXPIRED} ${place}
     ORDER BY m.created_at, m.ordinal LIMIT ${RANKED_AT_ONCE}`,
  ).all({ namespace, tier, now, ...after }) as Row[];
  const ranked = rows.map((row) => ({ ordinal: row.ordinal, id: row.id, retention: retentionOf(row, now) }));
  const last = rows.at(-1);
  return {
    least: leastOf(ranked, count),
    ...(last && rows.length === RANKED_AT_ONCE && { next: { createdAt: last.createdAt, ordinal: last.ordinal } }),
  };
}

/** The least retained, the least first; of two that are retained alike, the older. */
export function leastOf(memories: readonly RetainedMemory[], count: number): RetainedMemory[] {
  return memories.toSorted((a, b) => a.retention - b.retention || a.ordinal - b.ordinal).slice(0, count);
}
