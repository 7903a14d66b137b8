import type { Promotion } from '../../ports/storage-consolidation.ts';
import type { MemoryFilter } from '../../ports/storage-memories.ts';
import type { OwnerFilter } from '../../ports/storage-owner.ts';
import { attributeKey, filteredAttributes } from '../attributes.ts';
import type { Dialect, Queries } from './queries.ts';
import { join, raw, type Sql, sql } from './sql.ts';

/** Returns a condition on `memory m`: it is live at a time, in a namespace, and passes a filter. */
export function liveAndPassing(dialect: Dialect, namespace: string, filter: MemoryFilter, now: number): Sql {
  const conditions = [matching(dialect, namespace, filter), raw(IN_TIER), notExpired(now)];
  if (filter.superseded === false) conditions.push(raw('m.superseded_by IS NULL'));
  return join(conditions, ' AND ');
}

/** What memories can be told apart by with an index. */
type Indexed = Pick<MemoryFilter, 'tags' | 'metadata' | 'tier' | 'sessionId' | 'source' | 'since' | 'until'> &
  OwnerFilter;

/** Returns a condition on `memory m`: it is in a namespace and matches. */
export function matching(dialect: Dialect, namespace: string, filter: Indexed): Sql {
  const { tier, sessionId, source, since, until } = filter;
  const attributes = filteredAttributes(filter);
  // Few memories are of a user, or have an attribute; all of a namespace may be of one tier, source or time.
  const beginsWithAttribute = attributes.length > 0 && !isOfUsers(filter);
  const inNamespace = beginsWithAttribute ? dialect.unindexed(raw('m.namespace')) : raw('m.namespace');
  const column = (name: string) => unlessOfUsers(dialect, filter, name);
  const conditions = [sql`${inNamespace} = ${namespace}`, ...ofOwners(dialect, filter)];
  if (sessionId !== undefined) conditions.push(sql`m.session_id = ${sessionId}`);
  if (tier !== undefined) conditions.push(sql`${column('tier')} = ${tier}`);
  if (source !== undefined) conditions.push(sql`${column('source')} = ${source}`);
  if (since !== undefined) conditions.push(sql`${column('created_at')} >= ${since}`);
  if (until !== undefined) conditions.push(sql`${column('created_at')} <= ${until}`);
  for (const [name, value] of attributes) {
    const held = holders(namespace, name, value);
    conditions.push(
      beginsWithAttribute ? sql`m.ordinal IN (${held})` : sql`EXISTS (${held} AND a.ordinal = m.ordinal)`,
    );
  }
  return join(conditions, ' AND ');
}

/** Whether a filter is about users alone, not about what all share. */
function isOfUsers({ userIds }: OwnerFilter): boolean {
  return userIds !== undefined && !userIds.includes('');
}

/** Returns a column of `memory m`, by which SQLite looks nothing up where it can begin with users. */
export function unlessOfUsers(dialect: Dialect, of: OwnerFilter, name: string): Sql {
  const column = raw(`m.${name}`);
  return isOfUsers(of) ? dialect.unindexed(column) : column;
}

/** Returns conditions on `memory m`: it belongs to some users and agents. */
function ofOwners(dialect: Dialect, of: OwnerFilter): Sql[] {
  const { userIds, agentIds } = of;
  return [
    ...(userIds ? getIsOne(dialect, raw('m.user_id'), userIds) : []),
    ...(agentIds ? getIsOne(dialect, unlessOfUsers(dialect, of, 'agent_id'), agentIds) : []),
  ];
}

function getIsOne({ isIn }: Dialect, column: Sql, values: readonly string[]): Sql[] {
  // A planner knows more of one value than of a list.
  const isOne = values.length === 1 ? sql`${column} = ${values[0]}` : isIn(column, values);
  // As the indexes by owner say it, which a memory without one is not in.
  return values.includes('') ? [isOne] : [isOne, sql`${column} <> ''`];
}

/** Returns a condition on `memory m`, which may be the only one. */
export function isOfOwners(dialect: Dialect, of: OwnerFilter): Sql {
  return join([raw('true'), ...ofOwners(dialect, of)], ' AND ');
}

/** Whether any memory of a namespace has a user or an agent. */
export async function hasOwners(queries: Queries, namespace: string): Promise<boolean> {
  const found = await queries.row(sql`
    SELECT 1 FROM (
      SELECT * FROM (SELECT 1 FROM memory m WHERE m.namespace = ${namespace} AND m.user_id <> '' LIMIT 1) AS of_user
      UNION ALL
      SELECT * FROM (SELECT 1 FROM memory m WHERE m.namespace = ${namespace} AND m.agent_id <> '' LIMIT 1) AS of_agent)
      AS owned LIMIT 1`);
  return found !== undefined;
}

/** Returns a query for the ordinals of the memories that have an attribute. */
export function holders(namespace: string, name: string, value: string): Sql {
  return sql`SELECT a.ordinal FROM attribute a
    WHERE a.namespace = ${namespace} AND a.name = ${attributeKey(name)} AND a.value = ${attributeKey(value)}`;
}

/** Returns a condition on `memory m`: a working memory is old enough to promote. See `Promotion`. */
export function oldEnough(promotion: Promotion): Sql {
  return sql`(m.stored_at <= ${promotion.promotedUntil} OR m.stored_at >= ${aheadFrom(promotion)})`;
}

/** Returns a condition on `memory m`: it has promoted, or is old enough to. */
export function isPromoted(promotion: Promotion): Sql {
  return sql`(m.tier <> 'working' OR ${oldEnough(promotion)})`;
}

/** Returns the columns of a memory that callers see (`MemoryRow`), of `memory m` joined by `WITH_ACCESS`. */
export function memoryColumns({ jsonArray }: Dialect): Sql {
  return sql`m.ordinal, m.id, m.session_id, m.user_id, m.agent_id, m.source, m.tier, m.importance, m.created_at, m.stored_at, m.updated_at,
    m.expires_at, m.supersedes, m.superseded_by, m.merged_into, m.version, m.tags, m.metadata, m.content,
    coalesce(c.count, 0) AS access_count, c.last_at AS accessed_at,
    CASE WHEN m.tier = 'semantic' THEN (
      SELECT ${jsonArray(raw('s.id'), raw('s.created_at, s.ordinal'))} FROM memory_source l
      CROSS JOIN memory s WHERE l.namespace = m.namespace AND l.semantic = m.ordinal
        AND s.namespace = l.namespace AND s.ordinal = l.source)
    ELSE '[]' END AS derived_from`;
}

export const WITH_ACCESS = raw('LEFT JOIN memory_access c ON c.namespace = m.namespace AND c.ordinal = m.ordinal');
export const MEMORY_TABLES = sql`memory m ${WITH_ACCESS}`;

/** The columns that retention is computed from, of the same tables. See `Retainable` in core. */
export const RETAINABLE_COLUMNS = raw(`m.importance, m.stored_at AS "storedAt", coalesce(c.count, 0) AS "accessCount",
  c.last_at AS "accessedAt"`);

/** Returns a condition on `memory m`. */
export function notExpired(now: number): Sql {
  return sql`(m.expires_at IS NULL OR m.expires_at > ${now})`;
}

/** In a tier: neither merged into a duplicate nor evicted. Expiry is apart, for it depends on the time. */
export const IN_TIER = 'm.merged_into IS NULL AND m.evicted_at IS NULL';

/** In the working tier. */
export const WORKING = `m.tier = 'working' AND ${IN_TIER}`;

/**
 * What a memory of the episodic tier must be for others to be distilled from it. What expires is left out, since its
 * words would outlive it, and so is what another memory corrects.
 */
export const DISTILLABLE = `m.expires_at IS NULL AND m.superseded_by IS NULL AND ${IN_TIER}`;

/** What may be merged at all: a memory that takes part in a correction stays apart, since it says what corrects what. */
export const MERGEABLE = `${IN_TIER} AND m.tier <> 'semantic' AND m.supersedes IS NULL AND m.superseded_by IS NULL`;

/**
 * What makes two rows of `memory` in one session of a user duplicates, but for equal digests of unequal texts. Those that expire at
 * different times, or that a filter by source or metadata tells apart, are none: merging them would hide a text earlier
 * than its client said, or from who looks for it by its labels.
 */
export function alike(one: string, other: string): string {
  return ['text_digest', 'agent_id', 'expires_at', 'source', 'metadata']
    .map((column) => `${one}.${column} IS NOT DISTINCT FROM ${other}.${column}`)
    .join(' AND ');
}

/**
 * The frame of a window: the rows up to the one before the row before. Where their texts fit into a page, the row before
 * may be the page's last, and the row itself shows that another page follows.
 */
export const BEFORE_THE_LAST = raw('ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING');

/** From when on a memory lies so far ahead of the clock that it is old enough to promote. See `Promotion`. */
export function aheadFrom({ promotedUntil, now }: Promotion): number {
  return 2 * now - promotedUntil;
}
