import {
  filteredAttributes,
  holders,
  IN_TIER,
  isOpen,
  join,
  liveAndPassing,
  type MemoryFilter,
  type Queries,
  raw,
  type SearchRequest,
  type Sql,
  sql,
} from '@memoryd/engine/storage-kit';
import { memoriesBy, POSTGRES } from '../dialect.ts';
import { indexName } from './vector-index.ts';

/** Memories that are few enough to be looked at one by one, rather than found in an index of more and then filtered. */
const FEW = 4096;

/** The same of users, of whom all memories are looked at, so that nobody else's stand before theirs. */
const FEW_OF_USERS = 32_768;

/** What a question is about, and what the database says of it as a whole. */
export interface Scope {
  namespace: string;
  /** A condition on `memory m`: it is of the namespace, live, and passes the filter. */
  passing: Sql;
  /** Whether no filter leaves out any, so that all that recall finds are in scope but for those that have expired. */
  isOpen: boolean;
  /** The memories in scope, where a filter lets only few through. */
  few: readonly number[] | undefined;
  /** How many memories of the namespace recall finds. */
  size: number;
  /** Of them, those that are counted: live, and not semantic. */
  memoryCount: number;
  /** The model in use, once it has made a vector. */
  model: SearchedModel | undefined;
}

/** A model whose vectors can be searched. */
export interface SearchedModel {
  number: number;
  modelId: string;
  dimensions: number;
  /** Whether the index of its vectors is there, and about how many vectors there are, of every namespace. */
  isIndexed: boolean;
  vectorCount: number;
}

export type ScopeRequest = Pick<SearchRequest, 'namespace' | 'filter' | 'now'>;

/** Learns what a question is about. */
export async function getScope(queries: Queries, { namespace, filter, now }: ScopeRequest): Promise<Scope> {
  const passing = liveAndPassing(POSTGRES, namespace, filter, now);
  const few = isOpen(filter) ? raw('NULL::bigint[]') : sql`ARRAY(${passingMemories(namespace, filter, now)})`;
  const found = (await queries.row<ScopeRow>(sql`
    SELECT
      (SELECT coalesce(sum(count), 0)::bigint FROM tier_count WHERE namespace = ${namespace}) AS size,
      (SELECT coalesce(sum(count), 0)::bigint FROM tier_count WHERE namespace = ${namespace} AND tier <> 'semantic')
        - (SELECT count(*) FROM memory m
           WHERE m.namespace = ${namespace} AND m.expires_at <= ${now} AND m.tier <> 'semantic' AND ${raw(IN_TIER)})
        AS "memoryCount",
      ${few} AS few, model.*
    FROM (VALUES (1)) AS one LEFT JOIN (${SEARCHED_MODEL}) AS model ON true`)) as ScopeRow;
  const { size, memoryCount, few: passed, modelId, ...model } = found;
  return {
    namespace,
    passing,
    isOpen: isOpen(filter),
    few: passed && passed.length <= mostFew(filter) ? passed : undefined,
    size,
    memoryCount,
    model: modelId === null ? undefined : { ...model, modelId },
  };
}

function mostFew({ userIds }: MemoryFilter): number {
  return userIds ? FEW_OF_USERS : FEW;
}

/** The memories that pass a filter, up to one more than few: those with the attributes that it asks for, or of all. */
function passingMemories(namespace: string, { tags, metadata, ...rest }: MemoryFilter, now: number): Sql {
  const passing = liveAndPassing(POSTGRES, namespace, rest, now);
  const having = filteredAttributes({ ...(tags && { tags }), ...(metadata && { metadata }) });
  const memories =
    having.length === 0
      ? raw('memory m')
      : sql`(${join(
          having.map(([name, value]) => holders(namespace, name, value)),
          ' INTERSECT ',
        )}) AS holder CROSS JOIN ${memoriesBy('m', sql`namespace = ${namespace} AND ordinal = holder.ordinal`)}`;
  return sql`SELECT m.ordinal FROM ${memories} WHERE ${passing} LIMIT ${mostFew(rest) + 1}`;
}

interface ScopeRow extends Omit<SearchedModel, 'modelId'> {
  size: number;
  memoryCount: number;
  /** Some of the memories that the filter lets through; null where it lets all through. */
  few: number[] | null;
  modelId: string | null;
}

const SEARCHED_MODEL = sql`
  SELECT no AS number, model_id AS "modelId", dimensions,
    coalesce((SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(${raw(indexName('no'))})), false)
      AS "isIndexed",
    (SELECT reltuples FROM pg_class WHERE oid = 'memory_vector'::regclass) AS "vectorCount"
  FROM embedding_model WHERE in_use AND dimensions IS NOT NULL`;

/** To be joined to rows in their order, of which it lets those through that speak of a memory in scope. */
export function admission({ namespace, passing }: Scope, ordinal: Sql): Sql {
  return sql`CROSS JOIN ${memoriesBy('m', sql`namespace = ${namespace} AND ordinal = ${ordinal}`)} WHERE ${passing}`;
}

/** The same as a condition, which leaves the rows in the order of an index. */
export function isAdmitted({ namespace, passing }: Scope, ordinal: Sql): Sql {
  return sql`EXISTS (
    SELECT FROM ${memoriesBy('m', sql`namespace = ${namespace} AND ordinal = ${ordinal}`)} WHERE ${passing})`;
}

/** Vectors that are measured in the time that a walk in the index takes for each memory that it is to find. */
const MEASURED_EACH = 64;

/** Vectors that are measured in the time in which a walk in the index passes one. */
const MEASURED_FOR_PASSED = 16;

/** Whether it takes no longer to look at all vectors of the namespace than to find some nearest in the index of all. */
export function isFewVectors({ size, few }: Scope, { isIndexed, vectorCount }: SearchedModel, count: number) {
  if (!isIndexed || few !== undefined || size <= MEASURED_EACH * count) return true;
  // A walk in the index passes about `vectorCount / size` vectors for each that is of the namespace.
  return size ** 2 <= MEASURED_FOR_PASSED * count * vectorCount;
}
