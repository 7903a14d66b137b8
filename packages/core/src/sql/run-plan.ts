import type { Tier } from '@memoryd/contract';
import type { ChangeDetails, Preview, Promotion } from '../ports/storage-consolidation.ts';
import type { Position } from '../ports/storage-memories.ts';
import { IN_TIER, MEMORY_TABLES, MERGEABLE, notExpired, oldEnough, RETAINABLE_COLUMNS, WORKING } from './filters.ts';
import { joinDuplicates, PLANNED_AT_ONCE } from './merge-duplicates.ts';
import {
  type LeastRetained,
  mergedIntoFirst,
  type PlannedDuplicate,
  type PlannedMerge,
  RANKED_AT_ONCE,
  type Rankable,
  rank,
} from './partial-plans.ts';
import { count, type Dialect, type Queries } from './queries.ts';
import { raw, type Sql, sql } from './sql.ts';
import { IS_LINKED, isNotReplaced } from './validity.ts';

/** See `Storage.planPromotion`. */
export function planPromotion(
  queries: Queries,
  namespace: string,
  promotion: Promotion,
  limit: number,
): Promise<Preview<{ id: string }>> {
  const condition = sql`m.namespace = ${namespace} AND ${raw(WORKING)} AND ${oldEnough(promotion)}`;
  const order = raw('m.stored_at, m.ordinal');
  return planWith(queries, { columns: raw('m.id'), index: 'memory_working', condition, order, limit });
}

/** See `Storage.planEvict`. */
export function planEvict(
  queries: Queries,
  namespace: string,
  now: number,
  limit: number,
): Promise<Preview<{ id: string; reason: ChangeDetails['evicted']['reason'] }>> {
  const condition = sql`m.namespace = ${namespace} AND m.expires_at <= ${now} AND ${raw(IN_TIER)}`;
  const columns = raw("m.id, 'expired' AS reason");
  const order = raw('m.expires_at, m.ordinal');
  return planWith(queries, { columns, index: 'memory_expiring', condition, order, limit });
}

async function planWith<Item>(
  queries: Queries,
  {
    columns,
    index,
    condition,
    order,
    limit,
  }: { columns: Sql; index: string; condition: Sql; order: Sql; limit: number },
): Promise<Preview<Item>> {
  const memories = sql`memory m ${queries.dialect.indexedBy(index)} WHERE ${condition}`;
  const total = await count(queries, memories);
  const items = await queries.rows<Item>(sql`SELECT ${columns} FROM ${memories} ORDER BY ${order} LIMIT ${limit}`);
  return { total, items };
}

/**
 * Plans the merges of up to `PLANNED_AT_ONCE` merge candidates after the ordinal `after`. A group is planned in the
 * batch that contains its first queued member. Must run in a snapshot.
 */
export async function planMergeAfter(
  queries: Queries,
  namespace: string,
  now: number,
  after: number,
  limit: number,
): Promise<PlannedMerge> {
  const last = await queries.row<{ ordinal: number }>(sql`
    SELECT ordinal FROM merge_candidate WHERE namespace = ${namespace} AND ordinal > ${after}
    ORDER BY ordinal LIMIT 1 OFFSET ${PLANNED_AT_ONCE - 1}`);
  const groups = await groupsAfter(queries, namespace, now, after);
  return {
    total: groups.reduce((sum, { size }) => sum + size - 1, 0),
    items: await getDuplicates(queries, namespace, now, groups, limit),
    ...(last && { next: last.ordinal }),
  };
}

/** Two or more memories that would be merged. `ordinal` is the ordinal of the first queued member. */
interface Group {
  ordinal: number;
  size: number;
}

// Counts each group once, even if several of its members are queued.
function groupsAfter({ dialect, rows }: Queries, namespace: string, now: number, after: number): Promise<Group[]> {
  return rows<Group>(sql`
    WITH waiting AS MATERIALIZED (
        SELECT ordinal FROM merge_candidate WHERE namespace = ${namespace} AND ordinal > ${after}
        ORDER BY ordinal LIMIT ${PLANNED_AT_ONCE}),
      first AS MATERIALIZED (
        SELECT m.namespace, min(m.ordinal) AS ordinal, m.user_id, m.agent_id, m.session_id, m.text_digest,
          m.expires_at, m.valid_from, m.valid_to, m.source, m.metadata
        FROM waiting ${dialect.joinMemory('m', { namespace: sql`${namespace}`, ordinal: raw('waiting.ordinal') })}
        WHERE ${raw(MERGEABLE)} AND ${notExpired(now)}
        GROUP BY m.namespace, m.user_id, m.agent_id, m.session_id, m.text_digest, m.expires_at, m.valid_from, m.valid_to,
          m.source, m.metadata)
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
  limit: number,
): Promise<PlannedDuplicate[]> {
  const named: number[] = [];
  let count = 0;
  for (const { ordinal, size } of groups) {
    if (count >= limit) break;
    named.push(ordinal);
    count += size - 1;
  }
  if (named.length === 0) return [];
  const { dialect, rows } = queries;
  // Selects one row per planned duplicate, and one row for the survivor of each group.
  const found = await rows<{ place: number; id: string }>(sql`
    SELECT named.place, m.id FROM ${dialect.ordinals('named', named)}
    ${dialect.joinMemory('c', { namespace: sql`${namespace}`, ordinal: raw('named.ordinal') })}
    ${joinDuplicates(dialect)} AND ${notExpired(now)}
    ORDER BY named.place, m.created_at, m.ordinal LIMIT ${limit + named.length}`);
  const idsAt = (at: number) => found.filter(({ place }) => place === at).map(({ id }) => id);
  return named.flatMap((_, i) => mergedIntoFirst(idsAt(i + 1))).slice(0, limit);
}

/**
 * Reads up to `RANKED_AT_ONCE` live memories of a tier in creation order, and returns the `count` memories with the
 * lowest retention. `next` is the position to continue after, absent at the end of the tier.
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
    SELECT m.ordinal, m.id, m.created_at AS "createdAt", ${getEvictionRank(queries.dialect, now)} AS "evictionRank",
      ${RETAINABLE_COLUMNS}
    FROM ${MEMORY_TABLES}
    WHERE m.namespace = ${namespace} AND m.tier = ${tier} AND ${raw(IN_TIER)} AND ${notExpired(now)} ${place}
    ORDER BY m.created_at, m.ordinal LIMIT ${RANKED_AT_ONCE}`);
  return rank(rows, count, now);
}

/**
 * Returns an expression: 0 for a memory that no longer holds, 2 for a memory that supersedes a memory of a tier, and 1 for
 * the others. Memories of a lower number are evicted first, so that a correction is never evicted before what it corrects.
 */
function getEvictionRank(dialect: Dialect, now: number): Sql {
  return sql`CASE WHEN m.valid_to <= ${now} OR NOT ${isNotReplaced(dialect, { at: now, now })} THEN 0
    WHEN EXISTS (
      SELECT 1 FROM succession l ${dialect.joinMemory('o', { namespace: raw('l.namespace'), ordinal: raw('l.ordinal') })}
      WHERE l.namespace = m.namespace AND l.successor = m.ordinal AND ${raw(IS_LINKED)} AND o.merged_into IS NULL AND o.evicted_at IS NULL)
    THEN 2 ELSE 1 END`;
}
