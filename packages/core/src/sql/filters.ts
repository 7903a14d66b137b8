import type { ListWords, MemoryFilter, OwnerFilter } from '@memoryd/search';
import { type RequiredAttribute, splitFilter } from '@memoryd/search';
import type { Promotion } from '../ports/storage-consolidation.ts';
import { type Moment, toMoment } from '../validity.ts';
import { attributeKey } from './attributes.ts';
import { isOne, meetsCondition } from './filter-condition.ts';
import { getEarlierRevision } from './known.ts';
import { hasWords, selectByWords } from './memory-words.ts';
import type { Dialect } from './queries.ts';
import { join, raw, type Sql, sql } from './sql.ts';
import { IS_LINKED, isHolding, isNotReplaced } from './validity.ts';

/**
 * Returns a condition on `memory m`: in the namespace, visible at `now`, and matching the filter. If the filter has
 * `known`, `m` must be the memories as they were known, see `fromMemory`.
 *
 * @param among all memories if absent
 * @param isNamed whether the memories are named by an id, which may be the id of a merged duplicate
 */
export function liveAndPassing(
  dialect: Dialect,
  namespace: string,
  filter: MemoryFilter,
  now: number,
  among?: Among,
  isNamed = filter.idPart !== undefined || filter.externalId !== undefined,
): Sql {
  const isVisible = raw(isNamed ? 'm.evicted_at IS NULL' : IN_TIER);
  const moment = toMoment({ filter, now });
  const conditions = [matching(dialect, namespace, filter, moment, among), isVisible, notExpired(now)];
  if (filter.idPart !== undefined) conditions.push(hasIdPart(namespace, filter.idPart));
  return join([...conditions, isValid(dialect, filter, now)], ' AND ');
}

/** Returns a condition on `memory m`: it holds, or nothing replaces it, if the filter asks for this. */
export function isValid(dialect: Dialect, filter: Validity, now: number): Sql {
  const moment = toMoment({ filter, now });
  if (filter.holding) return isHolding(dialect, moment);
  return filter.superseded === false ? isNotReplaced(dialect, moment) : raw('true');
}

/** The conditions of a filter on the time in which a memory holds. */
type Validity = Pick<MemoryFilter, 'at' | 'holding' | 'superseded'>;

/** Returns a condition on `memory m`: the id begins or ends with `part`. Scans the id index instead of the memories. */
function hasIdPart(namespace: string, part: string): Sql {
  return sql`m.ordinal IN (SELECT i.ordinal FROM memory i WHERE i.namespace = ${namespace} AND (
    substr(i.id, 1, ${part.length}) = ${part} OR substr(i.id, length(i.id) - ${part.length - 1}) = ${part}))`;
}

/**
 * The memories that a statement looks at: a query for the ordinals of a few, which is looked up first, or `each` to test
 * the row of each memory that the statement reads, without reading others that have the same attributes or words.
 */
type Among = Sql | 'each';

/** The conditions of a filter, except those on the state of a memory and its id. */
type Indexed = Omit<MemoryFilter, 'idPart' | keyof Validity>;

/**
 * Returns a condition on `memory m`: in the namespace and matching the filter.
 *
 * @param moment by default the present; see `liveAndPassing`
 * @param among all memories if absent
 */
export function matching(
  dialect: Dialect,
  namespace: string,
  filter: Indexed,
  { known }: Pick<Moment, 'known'> = {},
  among?: Among,
): Sql {
  const isEach = among === 'each';
  // The indexed attributes are those of the present.
  const byRow = known !== undefined || isEach;
  const { required, others } = byRow ? { required: [], others: filter } : splitFilter(filter);
  // Looks up the users first, or else the attributes, because these filters are selective. Tier, source and time may
  // match every memory of the namespace.
  const beginsWithAttribute = required.length > 0 && !isOfUsers(filter);
  const { words } = others;
  const isFew = (among && !isEach) || words;
  const inNamespace = beginsWithAttribute || isFew ? dialect.unindexed(raw('m.namespace')) : raw('m.namespace');
  // The user index contains the sessions.
  const column = (name: string) => {
    if (words) return dialect.unindexed(raw(`m.${name}`));
    return name === 'session_id' ? raw('m.session_id') : unlessOfUsers(dialect, filter, name);
  };
  const conditions = [
    sql`${inNamespace} = ${namespace}`,
    ...ofOwners(dialect, filter),
    ...(among && !isEach ? [sql`m.ordinal IN (${among})`] : []),
    ...(words ? [meetsWords(dialect, namespace, words, { of: filter, isEach })] : []),
    ...meetsFields(filter, column),
  ];
  for (const attribute of required) {
    const held = holders(dialect, namespace, attribute);
    conditions.push(
      beginsWithAttribute ? sql`m.ordinal IN (${held})` : sql`EXISTS (${held} AND a.ordinal = m.ordinal)`,
    );
  }
  if (byRow) conditions.push(...hasAttributes(dialect, filter));
  if (others.condition) conditions.push(meetsCondition(dialect, others.condition, column));
  return join(conditions, ' AND ');
}

/** Returns a condition on `memory m`: its text has all of these words. */
function meetsWords(
  dialect: Dialect,
  namespace: string,
  words: ListWords,
  { of, isEach }: { of: OwnerFilter; isEach: boolean },
): Sql {
  if (isEach) return hasWords(dialect, namespace, words, dialect.fence);
  return dialect.isAmong(selectByWords(dialect, namespace, words, of));
}

/** Returns conditions on `memory m` for the fields of a filter that are columns. */
function meetsFields({ sessionId, tier, source, since, until }: Indexed, column: (name: string) => Sql): Sql[] {
  const conditions: Sql[] = [];
  if (sessionId !== undefined) conditions.push(sql`${column('session_id')} = ${sessionId}`);
  if (tier !== undefined) conditions.push(sql`${column('tier')} = ${tier}`);
  if (source !== undefined) conditions.push(sql`${column('source')} = ${source}`);
  if (since !== undefined) conditions.push(sql`${column('created_at')} >= ${since}`);
  if (until !== undefined) conditions.push(sql`${column('created_at')} <= ${until}`);
  return conditions;
}

/** Returns conditions on `memory m` for the attributes of a filter. They look at the row instead of the attribute index. */
function hasAttributes(dialect: Dialect, { tags = [], metadata = {}, externalId }: Indexed): Sql[] {
  return [
    ...(externalId === undefined ? [] : [sql`m.external_id = ${externalId}`]),
    ...tags.map((tag) => dialect.hasTag([tag])),
    ...Object.entries(metadata).map(([field, value]) => dialect.hasMetadata(field, value)),
  ];
}

/** Returns true if the filter names users and excludes memories without a user. */
export function isOfUsers({ userIds }: OwnerFilter): boolean {
  return userIds !== undefined && !userIds.includes('');
}

/**
 * Returns a column of `memory m`. If the filter names users, the column is marked so that SQLite does not use an index
 * on the column, because the user index is more selective.
 */
export function unlessOfUsers(dialect: Dialect, of: OwnerFilter, name: string): Sql {
  const column = raw(`m.${name}`);
  return isOfUsers(of) ? dialect.unindexed(column) : column;
}

/**
 * Returns conditions on `memory m`: the user is in `userIds`, and the agent is in `agentIds`. An absent list adds no
 * condition.
 */
function ofOwners(dialect: Dialect, of: OwnerFilter): Sql[] {
  const { userIds, agentIds } = of;
  return [
    ...(userIds ? getIsOne(dialect, raw('m.user_id'), userIds) : []),
    ...(agentIds ? getIsOne(dialect, unlessOfUsers(dialect, of, 'agent_id'), agentIds) : []),
  ];
}

function getIsOne(dialect: Dialect, column: Sql, values: readonly string[]): Sql[] {
  const isOfOwner = isOne(dialect, column, values);
  // The partial indexes by owner contain only rows with a non-empty owner, so the query must repeat that condition.
  return values.includes('') ? [isOfOwner] : [isOfOwner, sql`${column} <> ''`];
}

/**
 * Returns a condition on `memory m`: the user is in `userIds`, and the agent is in `agentIds`. An absent list is no
 * condition. Without lists, returns the SQL constant `true`, so that the result is always a complete SQL condition.
 */
export function isOfOwners(dialect: Dialect, of: OwnerFilter): Sql {
  return join([raw('true'), ...ofOwners(dialect, of)], ' AND ');
}

/** Returns a query for the ordinals of the memories with one of the values of an attribute. */
export function holders(dialect: Dialect, namespace: string, [name, values]: RequiredAttribute): Sql {
  return sql`SELECT ${raw(values.length > 1 ? 'DISTINCT ' : '')}a.ordinal FROM attribute a
    WHERE a.namespace = ${namespace} AND a.name = ${attributeKey(name)}
      AND ${isOne(dialect, raw('a.value'), values.map(attributeKey))}`;
}

/** Returns a condition on `memory m`: stored long enough ago to be promoted. See `Promotion`. */
export function oldEnough(promotion: Promotion): Sql {
  return sql`(m.stored_at <= ${promotion.promotedUntil} OR m.stored_at >= ${aheadFrom(promotion)})`;
}

/** Returns a condition on `memory m`: already promoted, or stored long enough ago to be promoted. */
export function isPromoted(promotion: Promotion): Sql {
  return sql`(m.tier <> 'working' OR ${oldEnough(promotion)})`;
}

/**
 * Returns the columns of a `MemoryRow`, selected from `memory m` joined with `WITH_ACCESS`.
 *
 * @param supersededBy the expression of the column `superseded_by`
 * @param moment the moment of `m`, see `fromMemory`; by default the present
 */
export function memoryColumns({ jsonArray }: Dialect, supersededBy: Sql, moment: Pick<Moment, 'known'> = {}): Sql {
  const isSourceKnown = moment.known === undefined ? raw('true') : sql`s.stored_at <= ${moment.known}`;
  return sql`m.ordinal, m.id, m.session_id, m.user_id, m.agent_id, m.external_id, m.source, m.tier, m.importance, m.created_at, m.stored_at, m.updated_at,
    m.expires_at, m.valid_from, m.valid_to, m.supersedes, ${supersededBy} AS superseded_by, m.merged_into, m.version, m.tags, m.metadata, m.content,
    ${getEarlierRevision(moment)} AS earlier_revision, coalesce(c.count, 0) AS access_count, c.last_at AS accessed_at,
    CASE WHEN m.tier = 'semantic' THEN (
      SELECT ${jsonArray(raw('s.id'), raw('s.created_at, s.ordinal'))} FROM memory_source l
      CROSS JOIN memory s WHERE l.namespace = m.namespace AND l.semantic = m.ordinal
        AND s.namespace = l.namespace AND s.ordinal = l.source AND ${isSourceKnown})
    ELSE '[]' END AS derived_from`;
}

/** The attachment of `memory m`; null if the memory has none. */
export const ATTACHMENT = raw(`CASE WHEN m.attachment_bytes > 0 THEN (
  SELECT a.attachment FROM memory_attachment a WHERE a.namespace = m.namespace AND a.ordinal = m.ordinal)
  END AS attachment`);

export const WITH_ACCESS = raw('LEFT JOIN memory_access c ON c.namespace = m.namespace AND c.ordinal = m.ordinal');
export const MEMORY_TABLES = sql`memory m ${WITH_ACCESS}`;

/**
 * The columns that determine retention, selected from `memory m` joined with `WITH_ACCESS`. See `Retainable` in core.
 */
export const RETAINABLE_COLUMNS = raw(`m.importance, m.stored_at AS "storedAt", coalesce(c.count, 0) AS "accessCount",
  c.last_at AS "accessedAt"`);

export function notExpired(now: number): Sql {
  return sql`(m.expires_at IS NULL OR m.expires_at > ${now})`;
}

/** Condition: in a tier, neither merged nor evicted. Expiry depends on the time and is checked separately. */
export const IN_TIER = 'm.merged_into IS NULL AND m.evicted_at IS NULL';

/** Condition on `memory m`: no memory was stored to supersede it, whether or not that memory counts. */
const UNSUPERSEDED = `NOT EXISTS (
  SELECT 1 FROM succession l WHERE l.namespace = m.namespace AND l.ordinal = m.ordinal AND ${IS_LINKED})`;

/** Condition: in the working tier. */
export const WORKING = `m.tier = 'working' AND ${IN_TIER}`;

/**
 * Condition: an episodic memory can be a source of a semantic memory. Expiring memories are excluded, because the
 * semantic memory would contain their words after their expiry. Memories that end or that another memory was stored to
 * supersede are excluded, so that a semantic memory holds as long as its sources do.
 */
export const DISTILLABLE = `m.expires_at IS NULL AND m.valid_to IS NULL AND ${IN_TIER} AND ${UNSUPERSEDED}`;

/** Condition: mergeable. Memories that supersede others or are superseded are excluded to preserve these links. */
export const MERGEABLE = `${IN_TIER} AND m.tier <> 'semantic' AND m.supersedes IS NULL AND ${UNSUPERSEDED}`;

/**
 * Returns a condition: two rows of `memory` in the same session of a user are duplicates. The texts are compared by
 * digest. Memories with different expiry, validity, source or metadata are not duplicates, because after a merge a text could
 * expire or end too early, or be hidden from filters that match the text.
 */
export function areDuplicates(one: string, other: string): string {
  return ['text_digest', 'agent_id', 'expires_at', 'valid_from', 'valid_to', 'source', 'metadata']
    .map((column) => `${one}.${column} IS NOT DISTINCT FROM ${other}.${column}`)
    .join(' AND ');
}

/**
 * Window frame: all rows up to the second row before the current row. If the texts in the frame fit into a page, the
 * previous row can be the last row of the page, and the current row shows that another page follows.
 */
export const BEFORE_THE_LAST = raw('ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING');

/**
 * Returns the earliest future storage time, in ms, with which a memory is promoted. Such a memory was stored before the
 * clock was set back. See `Promotion`.
 */
function aheadFrom({ promotedUntil, now }: Promotion): number {
  return 2 * now - promotedUntil;
}
