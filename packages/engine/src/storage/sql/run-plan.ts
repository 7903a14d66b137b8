import type { Tier } from '@memoryd/contract';
import type { ChangeDetails, Planned, Promotion } from '../../ports/storage-consolidation.ts';
import type { Position } from '../../ports/storage-memories.ts';
import {
  type LeastRetained,
  mergedIntoFirst,
  type PlannedDuplicate,
  type PlannedMerge,
  RANKED_AT_ONCE,
  type Rankable,
  rank,
} from '../partial-plans.ts';
import { IN_TIER, MEMORY_TABLES, MERGEABLE, notExpired, oldEnough, RETAINABLE_COLUMNS, WORKING } from './filters.ts';
import { joinDuplicates, PLANNED_AT_ONCE } from './merge-duplicates.ts';
import { count, type Queries } from './queries.ts';
import { raw, type Sql, sql } from './sql.ts';

/** See `Storage.planPromotion`. */
export function planPromotion(
  queries: Queries,
  namespace: string,
  promotion: Promotion,
  most: number,
): Promise<Planned<{ id: string }>> {
  const condition = sql`m.namespace = ${namespace} AND ${raw(WORKING)} AND ${oldEnough(promotion)}`;
  const order = raw('m.stored_at, m.ordinal');
  return planned(queries, { columns: raw('m.id'), index: 'memory_working', condition, order, most });
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
  const order = raw('m.expires_at, m.ordinal');
  return planned(queries, { columns, index: 'memory_expiring', condition, order, most });
}

async function planned<Item>(
  queries: Queries,
  { columns, index, condition, order, most }: { columns: Sql; index: string; condition: Sql; order: Sql; most: number },
): Promise<Planned<Item>> {
  const memories = sql`memory m ${queries.dialect.indexedBy(index)} WHERE ${condition}`;
  const total = await count(queries, memories);
  const items = await queries.rows<Item>(sql`SELECT ${columns} FROM ${memories} ORDER BY ${order} LIMIT ${most}`);
  return { total, items };
}

/**
 * Returns what would be merged of the memories that wait to be looked at and follow `after`, some thousand of them. A group is
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
    ORDER BY ordinal LIMIT 1 OFFSET ${PLANNED_AT_ONCE - 1}`);
  const groups = await groupsAfter(queries, namespace, now, after);
  return {
    total: groups.reduce((sum, { size }) => sum + size - 1, 0),
    items: await getDuplicates(queries, namespace, now, groups, most),
    ...(last && { next: last.ordinal }),
  };
}

/** Two or more memories that would be merged, by the first of them that waits. */
interface Group {
  ordinal: number;
  size: number;
}

// Each group is counted once, however many of its members wait.
function groupsAfter({ dialect, rows }: Queries, namespace: string, now: number, after: number): Promise<Group[]> {
  return rows<Group>(sql`
    WITH waiting AS MATERIALIZED (
        SELECT ordinal FROM merge_candidate WHERE namespace = ${namespace} AND ordinal > ${after}
        ORDER BY ordinal LIMIT ${PLANNED_AT_ONCE}),
      first AS MATERIALIZED (
        SELECT m.namespace, min(m.ordinal) AS ordinal, m.user_id, m.agent_id, m.session_id, m.text_digest,
          m.expires_at, m.source, m.metadata
        FROM waiting ${dialect.joinMemory('m', { namespace: sql`${namespace}`, ordinal: raw('waiting.ordinal') })}
        WHERE ${raw(MERGEABLE)} AND ${notExpired(now)}
        GROUP BY m.namespace, m.user_id, m.agent_id, m.session_id, m.text_digest, m.expires_at, m.source, m.metadata)
    SELECT c.ordinal, count(*) AS size
    FROM first c ${joinDuplicates(dialect)} AND ${notExpired(now)}
    LEFT JOIN merge_candidate e ON e.namespace = m.namespace AND e.ordinal = m.ordinal
    GROUP BY c.ordinal HAVING count(*) > 1 AND min(e.ordinal) = c.ordinal ORDER BY c.ordinal`);
}

async function getDuplicates(
  queries: Queries,
  namespace: string,
  now: number,
  groups: readonly Group[],
  most: number,
): Promise<PlannedDuplicate[]> {
  const named: number[] = [];
  let count = 0;
  for (const { ordinal, size } of groups) {
    if (count >= most) break;
    named.push(ordinal);
    count += size - 1;
  }
  if (named.length === 0) return [];
  const { dialect, rows } = queries;
  // A row for each duplicate that is planned, and one for the memory that each group is merged into.
  const found = await rows<{ place: number; id: string }>(sql`
    SELECT named.place, m.id FROM ${dialect.ordinals('named', named)}
    ${dialect.joinMemory('c', { namespace: sql`${namespace}`, ordinal: raw('named.ordinal') })}
    ${joinDuplicates(dialect)} AND ${notExpired(now)}
    ORDER BY named.place, m.created_at, m.ordinal LIMIT ${most + named.length}`);
  const idsAt = (at: number) => found.filter(({ place }) => place === at).map(({ id }) => id);
  return named.flatMap((_, i) => mergedIntoFirst(idsAt(i + 1))).slice(0, most);
}

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
