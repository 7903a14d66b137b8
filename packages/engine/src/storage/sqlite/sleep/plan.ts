import type { ChangeDetails } from '../../../ports/storage-runs.ts';
import type { Planned, Settling } from '../../../ports/storage-sleep.ts';
import { alike, IN_TIER, MERGEABLE, WORKING } from '../../conditions.ts';
import { mergedIntoFirst, type PlannedMerge, type PlannedTwin } from '../../plan.ts';
import { aheadFrom } from '../../settling.ts';
import { PLANNED_AT_ONCE } from '../../twins.ts';
import { type Connection, sql } from '../connection.ts';
import { NOT_EXPIRED } from '../row.ts';
import { OLD_ENOUGH } from './settle.ts';

/** See `Storage.planSettle`. */
export function planSettle(
  connection: Connection,
  namespace: string,
  settling: Settling,
  most: number,
): Planned<{ id: string }> {
  return planned(
    connection,
    'm.id',
    `memory m INDEXED BY memory_working
     WHERE namespace = @namespace AND ${WORKING} AND ${OLD_ENOUGH}`,
    'stored_at, ordinal',
    { namespace, settledUntil: settling.settledUntil, aheadFrom: aheadFrom(settling), most },
  );
}

/** See `Storage.planEvict`. */
export function planEvict(
  connection: Connection,
  namespace: string,
  now: number,
  most: number,
): Planned<{ id: string; reason: ChangeDetails['evicted']['reason'] }> {
  return planned(
    connection,
    "m.id, 'expired' AS reason",
    `memory m INDEXED BY memory_expiring
     WHERE namespace = @namespace AND expires_at <= @now AND ${IN_TIER}`,
    'expires_at, ordinal',
    { namespace, now, most },
  );
}

function planned<Item>(
  connection: Connection,
  columns: string,
  from: string,
  order: string,
  { most, ...values }: { namespace: string; most: number } & Record<string, string | number>,
): Planned<Item> {
  const total = sql(connection, `SELECT count(*) FROM ${from}`).pluck().get(values) as number;
  const items = sql(connection, `SELECT ${columns} FROM ${from} ORDER BY ${order} LIMIT @most`).all({
    ...values,
    most,
  });
  return { total, items: items as Item[] };
}

/** What of `memory c` and `memory m` makes them twins. */
const TWINS = `m.namespace = @namespace AND m.session_id IS c.session_id AND ${alike('m', 'c')}
  AND ${NOT_EXPIRED} AND ${MERGEABLE}`;

/**
 * What would be merged of the memories that wait to be looked at and follow `after`, some thousand of them; `next` is
 * after which to go on, absent behind the last. A group is told at the first of its members that waits.
 */
export function planMergeAfter(
  connection: Connection,
  namespace: string,
  now: number,
  after: number,
  most: number,
): PlannedMerge {
  const last = sql(
    connection,
    `SELECT max(ordinal) AS ordinal, count(*) AS count FROM (
       SELECT ordinal FROM merge_candidate WHERE namespace = ? AND ordinal > ? ORDER BY ordinal LIMIT ${PLANNED_AT_ONCE})`,
  ).get(namespace, after) as { ordinal: number | null; count: number };
  const first = sql(
    connection,
    `SELECT c.ordinal, (SELECT count(*) FROM memory m INDEXED BY memory_by_text WHERE ${TWINS}) AS size
     FROM merge_candidate k CROSS JOIN memory c USING (ordinal)
     WHERE k.namespace = @namespace AND k.ordinal > @after AND k.ordinal <= @last
       AND EXISTS (SELECT 1 FROM memory m INDEXED BY memory_by_text WHERE ${TWINS} AND m.ordinal = c.ordinal)
       AND NOT EXISTS (SELECT 1 FROM memory m INDEXED BY memory_by_text
         CROSS JOIN merge_candidate e ON e.namespace = m.namespace AND e.ordinal = m.ordinal
         WHERE ${TWINS} AND m.ordinal < c.ordinal)
     ORDER BY k.ordinal`,
  ).iterate({ namespace, now, after, last: last.ordinal }) as Iterable<{ ordinal: number; size: number }>;
  let total = 0;
  const items: PlannedTwin[] = [];
  for (const { ordinal, size } of first) {
    total += size - 1;
    if (size > 1) items.push(...twinsOf(connection, namespace, ordinal, now, most - items.length));
  }
  return {
    total,
    items,
    ...(last.ordinal !== null && last.count === PLANNED_AT_ONCE && { next: last.ordinal }),
  };
}

function twinsOf(connection: Connection, namespace: string, ordinal: number, now: number, most: number): PlannedTwin[] {
  const ids = sql(
    connection,
    `SELECT m.id FROM memory c CROSS JOIN memory m INDEXED BY memory_by_text WHERE c.ordinal = @ordinal AND ${TWINS}
     ORDER BY m.created_at, m.ordinal LIMIT @limit`,
  )
    .pluck()
    .all({ namespace, ordinal, now, limit: most + 1 }) as string[];
  return mergedIntoFirst(ids);
}
