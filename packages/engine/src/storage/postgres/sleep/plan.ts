import type { ChangeDetails } from '../../../ports/storage-runs.ts';
import type { Planned, Settling } from '../../../ports/storage-sleep.ts';
import { IN_TIER, MERGEABLE, WORKING } from '../../conditions.ts';
import { mergedIntoFirst, type PlannedMerge, type PlannedTwin } from '../../plan.ts';
import { PLANNED_AT_ONCE } from '../../twins.ts';
import type { Queries } from '../connection.ts';
import { count } from '../count.ts';
import { oldEnough } from '../filter.ts';
import { memoriesBy, notExpired } from '../row.ts';
import { raw, type Sql, sql } from '../sql.ts';
import { TWINS } from './merge.ts';

/** See `Storage.planSettle`. */
export function planSettle(
  queries: Queries,
  namespace: string,
  settling: Settling,
  most: number,
): Promise<Planned<{ id: string }>> {
  const condition = sql`m.namespace = ${namespace} AND ${raw(WORKING)} AND ${oldEnough(settling)}`;
  return planned(queries, { columns: raw('m.id'), condition, order: raw('m.stored_at, m.ordinal'), most });
}

/** See `Storage.planEvict`. */
export function planEvict(
  queries: Queries,
  namespace: string,
  now: number,
  most: number,
): Promise<Planned<{ id: string; reason: ChangeDetails['evicted']['reason'] }>> {
  const condition = sql`m.namespace = ${namespace} AND m.expires_at <= ${now} AND ${raw(IN_TIER)}`;
  const columns = raw("m.id, 'expired' AS reason");
  return planned(queries, { columns, condition, order: raw('m.expires_at, m.ordinal'), most });
}

async function planned<Item>(
  queries: Queries,
  { columns, condition, order, most }: { columns: Sql; condition: Sql; order: Sql; most: number },
): Promise<Planned<Item>> {
  const total = await count(queries, sql`memory m WHERE ${condition}`);
  const items = await queries.rows<Item>(
    sql`SELECT ${columns} FROM memory m WHERE ${condition} ORDER BY ${order} LIMIT ${most}`,
  );
  return { total, items };
}

/**
 * What would be merged of the memories that wait to be looked at and follow `after`, some thousand of them. A group is
 * told at the first of its members that waits. To be asked in a snapshot.
 */
export async function planMergeAfter(
  queries: Queries,
  namespace: string,
  now: number,
  after: number,
  most: number,
): Promise<PlannedMerge> {
  const last = await queries.row<{ ordinal: number }>(sql`
    SELECT ordinal FROM merge_candidate WHERE namespace = ${namespace} AND ordinal > ${after}
    ORDER BY ordinal OFFSET ${PLANNED_AT_ONCE - 1} LIMIT 1`);
  const groups = await groupsAfter(queries, namespace, now, after);
  return {
    total: groups.reduce((sum, { size }) => sum + size - 1, 0),
    items: await twinsOf(queries, namespace, now, groups, most),
    ...(last && { next: last.ordinal }),
  };
}

/** Two or more memories that would be merged, by the first of them that waits. */
interface Group {
  ordinal: number;
  size: number;
}

// Each group is counted once, however many of its members wait.
function groupsAfter(queries: Queries, namespace: string, now: number, after: number): Promise<Group[]> {
  return queries.rows<Group>(sql`
    WITH waiting AS MATERIALIZED (
        SELECT ordinal FROM merge_candidate WHERE namespace = ${namespace} AND ordinal > ${after}
        ORDER BY ordinal LIMIT ${PLANNED_AT_ONCE}),
      first AS MATERIALIZED (
        SELECT m.namespace, min(m.ordinal) AS ordinal, m.session_id, m.text_digest, m.expires_at, m.source, m.metadata
        FROM waiting CROSS JOIN ${memoriesBy('m', sql`namespace = ${namespace} AND ordinal = waiting.ordinal`)}
        WHERE ${raw(MERGEABLE)} AND ${notExpired(now)}
        GROUP BY m.namespace, m.session_id, m.text_digest, m.expires_at, m.source, m.metadata)
    SELECT c.ordinal, count(*) AS size
    FROM first c JOIN ${TWINS} AND ${notExpired(now)}
    LEFT JOIN merge_candidate e ON e.namespace = m.namespace AND e.ordinal = m.ordinal
    GROUP BY c.ordinal HAVING count(*) > 1 AND min(e.ordinal) = c.ordinal ORDER BY c.ordinal`);
}

async function twinsOf(
  queries: Queries,
  namespace: string,
  now: number,
  groups: readonly Group[],
  most: number,
): Promise<PlannedTwin[]> {
  const named: number[] = [];
  let count = 0;
  for (const { ordinal, size } of groups) {
    if (count >= most) break;
    named.push(ordinal);
    count += size - 1;
  }
  if (named.length === 0) return [];
  const told = await queries.rows<{ ids: string[] }>(sql`
    SELECT ARRAY(
      SELECT m.id FROM ${memoriesBy('c', sql`namespace = ${namespace} AND ordinal = named.ordinal`)}
      JOIN ${TWINS} AND ${notExpired(now)}
      ORDER BY m.created_at, m.ordinal LIMIT ${most + 1}) AS ids
    FROM unnest(${named}::bigint[]) WITH ORDINALITY AS named(ordinal, place) ORDER BY named.place`);
  return told.flatMap(({ ids }) => mergedIntoFirst(ids)).slice(0, most);
}
