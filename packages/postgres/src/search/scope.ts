import {
  holders,
  IN_TIER,
  join,
  joinKnown,
  liveAndPassing,
  meetsCondition,
  type Queries,
  raw,
  type Sql,
  selectChanged,
  sql,
  toMoment,
} from '@memoryd/core';
import { isOpen, type MemoryFilter, type SearchRequest, splitFilter } from '@memoryd/search';
import { memoriesBy, POSTGRES } from '../dialect.ts';
import { getIndexName } from './vector-index.ts';

/**
 * Maximum number of memories matching a filter that are compared one by one. If more memories match, the results of an
 * index are filtered.
 */
const MAX_FEW = 4096;

/**
 * The value of `MAX_FEW` for filters by user, and for conditions. The value is higher, because memories of other users
 * would fill the results of an index, and conditions take long to evaluate for each result.
 */
const MAX_FEW_OF_CONDITION = 32_768;

/** The memories that a query searches, with statistics. */
export interface Scope {
  namespace: string;
  /** Condition on `memory m`: in the namespace, live, and matching the filter. */
  passing: Sql;
  /** Whether there is no filter, so that only expired memories are excluded. */
  isOpen: boolean;
  /** Ordinals of the memories in scope; undefined without a filter, or if the filter matches too many memories. */
  few: readonly number[] | undefined;
  /** Number of memories with an index entry in the namespace. */
  size: number;
  /** Number of live memories that are not semantic. */
  memoryCount: number;
  /** The model in use. Undefined before the first vector of the model is stored. */
  model: SearchedModel | undefined;
}

/** A model whose vectors can be searched. */
export interface SearchedModel {
  number: number;
  modelId: string;
  dimensions: number;
  /** Whether the vector index of the model exists. */
  isIndexed: boolean;
  /** Approximate number of vectors in all namespaces; -1 without statistics. */
  vectorCount: number;
}

export type ScopeRequest = Pick<SearchRequest, 'namespace' | 'filter' | 'now'>;

/** Converts the namespace and filter of a query to a scope, and reads the statistics of the scope. */
export async function getScope(queries: Queries, { namespace, filter, now }: ScopeRequest): Promise<Scope> {
  const changes = await readChanges(queries, namespace, filter, now);
  const passing = getPassing(namespace, filter, now, changes);
  const few = isOpen(filter) ? raw('NULL::bigint[]') : sql`ARRAY(${selectMatching(namespace, filter, now, changes)})`;
  const found = (await queries.row<ScopeRow>(sql`
    SELECT
      (SELECT coalesce(sum(count), 0)::bigint FROM tier_count WHERE namespace = ${namespace} AND user_id = '') AS size,
      (SELECT coalesce(sum(count), 0)::bigint FROM tier_count WHERE namespace = ${namespace} AND user_id = '' AND tier <> 'semantic')
        - (SELECT count(*) FROM memory m
           WHERE m.namespace = ${namespace} AND m.expires_at <= ${now} AND m.tier <> 'semantic' AND ${raw(IN_TIER)})
        AS "memoryCount",
      ${few} AS few, model.*
    FROM (VALUES (1)) AS one LEFT JOIN (${SEARCHED_MODEL}) AS model ON true`)) as ScopeRow;
  const { size, memoryCount, few: matching, modelId, ...model } = found;
  return {
    namespace,
    passing,
    isOpen: isOpen(filter),
    few: matching && matching.length <= getMaxFew(filter) ? matching : undefined,
    size,
    memoryCount,
    model: modelId === null ? undefined : { ...model, modelId },
  };
}

/** The memories that have changed since the time `known`. */
interface Changes {
  known: number;
  /** Ordinals of the memories whose present fields do not tell whether they are in scope. */
  changed: number[];
  /** Ordinals of those that are in scope, and of the memories that they were merged into. */
  passing: number[];
}

/** Reads the changes since the time at which the memories of a search were known; undefined for the present. */
async function readChanges(
  queries: Queries,
  namespace: string,
  filter: MemoryFilter,
  now: number,
): Promise<Changes | undefined> {
  const { known } = toMoment({ filter, now });
  if (known === undefined) return undefined;
  const found = await queries.row<Pick<Changes, 'changed' | 'passing'>>(sql`
    WITH changed AS MATERIALIZED (${selectChanged(POSTGRES, namespace, filter, known)}),
      passing AS (
        SELECT m.ordinal FROM changed
        ${joinKnown(POSTGRES, { known }, 'm', { namespace: sql`${namespace}`, ordinal: raw('changed.ordinal') })}
        WHERE ${liveAndPassing(POSTGRES, namespace, filter, now)}),
      survivor AS (
        SELECT s.ordinal FROM passing
        CROSS JOIN ${memoriesBy('d', sql`namespace = ${namespace} AND ordinal = passing.ordinal`)}
        CROSS JOIN ${memoriesBy('s', sql`namespace = ${namespace} AND id = d.merged_into`)})
    SELECT ARRAY(SELECT ordinal FROM changed) AS changed,
      ARRAY(SELECT ordinal FROM passing UNION SELECT ordinal FROM survivor) AS passing`);
  return { known, changed: found?.changed ?? [], passing: found?.passing ?? [] };
}

/** Returns a condition on `memory m`: the memory is in scope. */
function getPassing(namespace: string, filter: MemoryFilter, now: number, changes: Changes | undefined): Sql {
  if (!changes) return liveAndPassing(POSTGRES, namespace, filter, now);
  const { known: _, ...present } = filter;
  const passing = liveAndPassing(POSTGRES, namespace, present, now);
  return sql`(${passing} AND m.stored_at <= ${changes.known} AND m.ordinal <> ALL(${changes.changed}::bigint[])
    OR m.namespace = ${namespace} AND ${raw(IN_TIER)} AND m.ordinal = ANY(${changes.passing}::bigint[]))`;
}

function getMaxFew({ userIds, condition }: MemoryFilter): number {
  return userIds || condition ? MAX_FEW_OF_CONDITION : MAX_FEW;
}

/**
 * SQL: ordinals of memories that match a filter, at most one more than the maximum. The additional ordinal shows that
 * too many memories match. Uses the attribute index for tags, metadata and the external id.
 */
function selectMatching(namespace: string, filter: MemoryFilter, now: number, changes: Changes | undefined): Sql {
  const { required, others } = splitFilter(filter);
  const { condition, ...rest } = others;
  const passing = getPassing(namespace, rest, now, changes && { ...changes, passing: [] });
  const meets = condition ? sql`AND ${meetsCondition(POSTGRES, condition, (name) => raw(`m.${name}`))}` : raw('');
  const memories =
    required.length === 0
      ? raw('memory m')
      : sql`(${join(
          required.map((attribute) => holders(POSTGRES, namespace, attribute)),
          ' INTERSECT ',
        )}) AS holder CROSS JOIN ${memoriesBy('m', sql`namespace = ${namespace} AND ordinal = holder.ordinal`)}`;
  const matching = sql`SELECT m.ordinal FROM ${memories} WHERE ${passing} ${meets} LIMIT ${getMaxFew(filter) + 1}`;
  return changes
    ? sql`(${matching}) UNION SELECT m.ordinal FROM memory m
    WHERE m.namespace = ${namespace} AND ${raw(IN_TIER)} AND m.ordinal = ANY(${changes.passing}::bigint[])`
    : matching;
}

interface ScopeRow extends Omit<SearchedModel, 'modelId'> {
  size: number;
  memoryCount: number;
  /** Ordinals of memories that match the filter; null without a filter. */
  few: number[] | null;
  modelId: string | null;
}

const SEARCHED_MODEL = sql`
  SELECT no AS number, model_id AS "modelId", dimensions,
    coalesce((SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(${raw(getIndexName('no'))})), false)
      AS "isIndexed",
    (SELECT reltuples FROM pg_class WHERE oid = 'memory_vector'::regclass) AS "vectorCount"
  FROM embedding_model WHERE in_use AND dimensions IS NOT NULL`;

/** SQL: join that selects the rows whose memory is in scope. */
export function joinScope({ namespace, passing }: Scope, ordinal: Sql): Sql {
  return sql`CROSS JOIN ${memoriesBy('m', sql`namespace = ${namespace} AND ordinal = ${ordinal}`)} WHERE ${passing}`;
}

/**
 * SQL: condition that the memory of a row is in scope. Unlike the join, the condition preserves the order of an index
 * scan.
 */
export function isInScope({ namespace, passing }: Scope, ordinal: Sql): Sql {
  return sql`EXISTS (
    SELECT FROM ${memoriesBy('m', sql`namespace = ${namespace} AND ordinal = ${ordinal}`)} WHERE ${passing})`;
}

/** Number of exact vector comparisons that take as long as an index search takes per result. */
const COMPARISONS_PER_RESULT = 64;

/** Number of exact vector comparisons that take as long as one step of an index search. */
const COMPARISONS_PER_STEP = 16;

/**
 * Returns true if vectors are compared one by one: if the vector index is missing, the filter matches few memories, or
 * comparing all vectors of the namespace is not slower than an index search over all namespaces.
 */
export function isFewVectors({ size, few }: Scope, { isIndexed, vectorCount }: SearchedModel, count: number) {
  if (!isIndexed || few !== undefined || size <= COMPARISONS_PER_RESULT * count) return true;
  // An index search visits about `vectorCount / size` vectors for each vector of the namespace.
  return size ** 2 <= COMPARISONS_PER_STEP * count * vectorCount;
}
