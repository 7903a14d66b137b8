import type { MemoryFilter } from '@memoryd/search';
import type { Moment } from '../validity.ts';
import { VERSIONED_COLUMNS } from './field-history.ts';
import type { Dialect } from './queries.ts';
import { join, raw, type Sql, sql } from './sql.ts';

/** The columns of `memory` that no change replaces, or whose earlier values are not kept. */
const LASTING_COLUMNS = [
  ...['namespace', 'ordinal', 'id', 'user_id', 'agent_id', 'external_id', 'tier', 'stored_at', 'expires_at'],
  ...['evicted_at', 'attachment_bytes'],
];

/**
 * Returns the memories of a moment as the table `memory`, for FROM. At a moment with `known`, the table has the memories
 * that had been stored by then, with the fields and the texts that they had, and the column `earlier_revision`: the
 * revision of the text if the present text is another one.
 *
 * @param alias name of the table in the statement
 */
export function fromMemory(dialect: Dialect, { known }: Pick<Moment, 'known'>, alias = 'm'): Sql {
  if (known === undefined) return raw(`memory ${alias}`);
  return sql`(${selectKnown(dialect, known, raw('true'))}) AS ${raw(alias)}`;
}

/** Returns a join of the memories of a moment, looked up by key. See `Dialect.joinMemory` and `fromMemory`. */
export function joinKnown(
  dialect: Dialect,
  { known }: Pick<Moment, 'known'>,
  alias: string,
  key: Readonly<Record<string, Sql>>,
): Sql {
  if (known === undefined) return dialect.joinMemory(alias, key);
  return dialect.joinSelected(alias, key, (condition) => selectKnown(dialect, known, condition));
}

/** Returns a query for the columns of `memory` as they were known, of memories `k` that meet a condition. */
function selectKnown(dialect: Dialect, known: number, condition: Sql): Sql {
  const lasting = LASTING_COLUMNS.map((column) => raw(`k.${column}`));
  const versioned = VERSIONED_COLUMNS.map((column) =>
    raw(`CASE WHEN f.until IS NULL THEN k.${column} ELSE f.${column} END AS ${column}`),
  );
  // By the key, because an index by time would find all changes since.
  const isSame = (table: string) =>
    sql`${dialect.unindexed(raw(`${table}.namespace`))} = k.namespace AND ${raw(table)}.ordinal = k.ordinal`;
  const earlier = (column: Sql) => sql`CASE WHEN k.revision > 1 THEN (
    SELECT ${column} FROM memory_history h
    WHERE ${isSame('h')} AND h.replaced_at > ${known} ORDER BY h.revision LIMIT 1) END`;
  const revision = sql`coalesce(${earlier(raw('h.revision'))}, k.revision)`;
  return sql`
    SELECT ${join([...lasting, ...versioned, ...dialect.knownColumns], ', ')},
      coalesce(${earlier(raw('h.content'))}, k.content) AS content, ${revision} AS revision,
      CASE WHEN k.distilled_revision > ${revision} THEN ${revision} ELSE k.distilled_revision END AS distilled_revision,
      ${earlier(raw('CASE WHEN h.content <> k.content THEN h.revision END'))} AS earlier_revision
    FROM memory k LEFT JOIN field_history f ON ${isSame('f')} AND f.until = (
      SELECT min(h.until) FROM field_history h WHERE ${isSame('h')} AND h.until > ${known})
    WHERE k.stored_at <= ${known} AND ${condition}`;
}

/** Returns the expression of `earlier_revision` in `memory m`; null at a moment without `known`. */
export function getEarlierRevision({ known }: Pick<Moment, 'known'>): Sql {
  return raw(known === undefined ? 'NULL' : 'm.earlier_revision');
}

/** The conditions of a filter that do not depend on the time at which memories were known. */
type Lasting = 'userIds' | 'agentIds' | 'tier' | 'idPart' | 'externalId' | 'at' | 'known' | 'holding' | 'superseded';

/**
 * Returns a query for the ordinals of the memories whose present fields do not tell whether the memories matched a filter
 * as they were known, or whether they were merged then. Includes no memory that was only stored later.
 */
export function selectChanged(dialect: Dialect, namespace: string, filter: MemoryFilter, known: number): Sql {
  const { userIds, agentIds, tier, idPart, externalId, at, known: _, holding, superseded, ...fields } = filter;
  const since = sql`WHERE namespace = ${namespace} AND until > ${known}`;
  const changes = sql`SELECT ordinal FROM field_history ${dialect.indexedBy('field_history_by_time')} ${since}`;
  const isOfFields = Object.values(fields satisfies Omit<MemoryFilter, Lasting>).some((value) => value !== undefined);
  if (holding || superseded === false) {
    // A memory holds as the memories hold that supersede it, directly or through others.
    return sql`
      WITH RECURSIVE changed (ordinal) AS (
        ${changes}
        UNION SELECT ordinal FROM succession WHERE namespace = ${namespace} AND linked_at > ${known}
        UNION SELECT ordinal FROM succession WHERE namespace = ${namespace} AND unlinked_at > ${known}
        UNION SELECT l.ordinal FROM changed c CROSS JOIN succession l
        WHERE ${dialect.unindexed(raw('l.namespace'))} = ${namespace} AND l.successor = c.ordinal)
      SELECT ordinal FROM changed`;
  }
  if (isOfFields) return sql`${changes} GROUP BY ordinal`;
  return sql`
    SELECT ordinal FROM field_history ${dialect.indexedBy('field_history_of_groups')} ${since} AND regroups GROUP BY ordinal`;
}
