import { type Queries, raw, type Sql, sql } from '@memoryd/core';
import type { SearchRequest } from '@memoryd/search';
import { type FoundMemory, withTextDigests } from './diversity.ts';
import { isFewVectors, isInScope, joinScope, type Scope, type SearchedModel } from './scope.ts';
import { getIndexedSql } from './vector-index.ts';

/** Vectors requested from the index per result, because a memory can have several vectors. */
const VECTORS_PER_RESULT = 2;

/** Oversampling: candidates by code that are compared exactly, per requested vector. */
const OVERSAMPLING = 8;

const MAX_EF_SEARCH = 400;

/** Factor by which the number of requested vectors grows if the found vectors belong to too few memories. */
const GROWTH_FACTOR = 8;

/**
 * Returns the settings of a snapshot for a search of `count` nearest memories. `ef_search` is the number of candidates,
 * at most 400. The iterative scan continues until enough candidates are in scope or pgvector's scan limit is reached.
 * Sequential scans are disabled, because the planner may choose them for small limits or tables without statistics.
 */
export function getSearchSettings(count: number): string {
  const efSearch = Math.min(MAX_EF_SEARCH, count * OVERSAMPLING);
  return `SET LOCAL hnsw.ef_search = ${efSearch}; SET LOCAL hnsw.iterative_scan = relaxed_order;
    SET LOCAL enable_seqscan = off`;
}

/** The vector of a query, and its model. */
export interface QueryVector {
  model: SearchedModel;
  /** The vector in pgvector's text format. */
  text: string;
  /** See `Embedding.states`. */
  states?: Int8Array;
}

/** Converts the vector of a request. Returns undefined if the stored vectors have another model or length. */
export function toQueryVector({ model }: Scope, vector: SearchRequest['vector']): QueryVector | undefined {
  if (!vector || model?.modelId !== vector.modelId || model.dimensions !== vector.values.length) return undefined;
  return { model, text: `[${vector.values.join()}]`, ...(vector.states && { states: vector.states }) };
}

/**
 * Returns at most `count` memories in scope with the nearest vectors, nearest first; newer memories first on ties. The
 * result is approximate if the vector index is used.
 */
export async function findNearest(
  queries: Queries,
  scope: Scope,
  vector: QueryVector,
  count: number,
): Promise<FoundMemory[]> {
  const { model, text } = vector;
  const values = sql`${text}`;
  if (!isFewVectors(scope, model, count)) {
    for (let maxVectors = count * VECTORS_PER_RESULT; ; maxVectors *= GROWTH_FACTOR) {
      const near = await queries.rows<IndexResult>(
        withTextDigests(scope, nearestByIndex(scope, model, values, maxVectors)),
      );
      if (near.length >= count) return near.slice(0, count);
      // The index scan ends early if it has visited too many vectors out of scope.
      if ((near[0]?.scanned ?? 0) < maxVectors) break;
    }
  }
  return queries.rows<FoundMemory>(withTextDigests(scope, nearestOfAll(scope, model, values, count)));
}

/** A result of the index, with the number of vectors found, including vectors of expired memories. */
interface IndexResult extends FoundMemory {
  scanned: number;
}

/** SQL: the `count` nearest memories in scope, by comparing all vectors. */
export function nearestOfAll(scope: Scope, model: SearchedModel, vector: Sql, count: number): Sql {
  const { namespace, few } = scope;
  const condition = few ? sql`AND v.ordinal = ANY(${few}::bigint[])` : raw('');
  const scopeJoin = few ? raw('') : joinScope(scope, raw('measured.ordinal'));
  return sql`
    SELECT measured.ordinal FROM (
      SELECT v.ordinal, min(v.embedding <=> ${vector}::halfvec) AS distance FROM memory_vector v
      WHERE v.namespace = ${namespace} AND v.model = ${model.number} ${condition}
      GROUP BY v.ordinal ORDER BY distance, v.ordinal DESC) AS measured
    ${scopeJoin} ORDER BY distance, measured.ordinal DESC LIMIT ${count}`;
}

/** SQL: the memories in scope with the `maxVectors` nearest vectors, approximately, by the index of the model. */
export function nearestByIndex(scope: Scope, model: SearchedModel, vector: Sql, maxVectors: number): Sql {
  const { getCodes, predicate } = getIndexedSql(model);
  // `(v.namespace = …) IS TRUE` below prevents the use of the primary key, which a planner without statistics would
  // prefer to the vector index. Without a filter, nearly all memories are in scope, so only the nearest are looked up.
  const scopeCondition = scope.isOpen ? raw('') : sql`AND ${isInScope(scope, raw('v.ordinal'))}`;
  const scopeJoin = scope.isOpen ? joinScope(scope, raw('near.ordinal')) : raw('');
  return sql`
    SELECT near.ordinal, near.scanned FROM (
      SELECT ordinal, sum(count(*)) OVER ()::integer AS scanned, min(distance) AS distance FROM (
        SELECT ordinal, distance FROM (
          SELECT v.ordinal, v.embedding <=> ${vector}::halfvec AS distance FROM memory_vector v
          WHERE v.${predicate} AND (v.namespace = ${scope.namespace}) IS TRUE ${scopeCondition}
          ORDER BY ${getCodes(raw('v.embedding'))} <~> ${getCodes(vector)} LIMIT ${maxVectors * OVERSAMPLING}) AS proposed
        ORDER BY distance LIMIT ${maxVectors}) AS nearest
      GROUP BY ordinal) AS near
    ${scopeJoin} ORDER BY near.distance, near.ordinal DESC`;
}
