import { type Queries, raw, type SearchRequest, type Sql, sql } from '@memoryd/engine/storage-kit';
import { type FoundMemory, withTextDigests } from './crowds.ts';
import { admission, isAdmitted, isFewVectors, type Scope, type SearchedModel } from './scope.ts';
import { indexedBy } from './vector-index.ts';

/** Vectors that are looked for in the index for each memory, which may have several. */
const VECTORS_EACH = 2;

/** How many times as many are taken by their codes as are then kept by their exact distances. */
const RESCORED = 8;

const MAX_IN_VIEW = 400;

/** How many times as many are looked for where those belong to too few memories. */
const AGAIN = 8;

/**
 * How a snapshot is set for looking for this many nearest. A walk in the index of vectors keeps as many in view as it is
 * to propose, up to 400, and goes on until those are in scope. Tables are never read as a whole, whatever a planner may
 * think of a limit that is soon reached, or of tables that it knows nothing of yet.
 */
export function searchSettings(count: number): string {
  const inView = Math.min(MAX_IN_VIEW, count * RESCORED);
  return `SET LOCAL hnsw.ef_search = ${inView}; SET LOCAL hnsw.iterative_scan = relaxed_order;
    SET LOCAL enable_seqscan = off`;
}

/** A query's vector, of the model that it is compared by. */
export interface QueryVector {
  model: SearchedModel;
  /** As pgvector reads it. */
  text: string;
  /** See `Embedding.states`. */
  states?: Int8Array;
}

/** Undefined where the vectors that are kept are of another model. */
export function queryVector({ model }: Scope, vector: SearchRequest['vector']): QueryVector | undefined {
  if (!vector || model?.modelId !== vector.modelId || model.dimensions !== vector.values.length) return undefined;
  return { model, text: `[${vector.values.join()}]`, ...(vector.states && { states: vector.states }) };
}

/** At most `count` memories in scope that own the vectors nearest to the query's, nearest first, of equals the newest. */
export async function nearest(
  queries: Queries,
  scope: Scope,
  vector: QueryVector,
  count: number,
): Promise<FoundMemory[]> {
  const { model, text } = vector;
  const values = sql`${text}`;
  if (!isFewVectors(scope, model, count)) {
    for (let most = count * VECTORS_EACH; ; most *= AGAIN) {
      const near = await queries.rows<Near>(withTextDigests(scope, nearestByIndex(scope, model, values, most)));
      if (near.length >= count) return near.slice(0, count);
      // A walk ends where it has passed too many vectors that are not in scope.
      if ((near[0]?.walked ?? 0) < most) break;
    }
  }
  return queries.rows<FoundMemory>(withTextDigests(scope, nearestOfAll(scope, model, values, count)));
}

/** A memory, and how many vectors were found, those included whose memories have expired. */
interface Near extends FoundMemory {
  walked: number;
}

/** The `count` memories in scope that own the vectors nearest to one, by looking at all of them. */
export function nearestOfAll(scope: Scope, model: SearchedModel, vector: Sql, count: number): Sql {
  const { namespace, few } = scope;
  const these = few ? sql`AND v.ordinal = ANY(${few}::bigint[])` : raw('');
  const admitted = few ? raw('') : admission(scope, raw('measured.ordinal'));
  return sql`
    SELECT measured.ordinal FROM (
      SELECT v.ordinal, min(v.embedding <=> ${vector}::halfvec) AS distance FROM memory_vector v
      WHERE v.namespace = ${namespace} AND v.model = ${model.number} ${these}
      GROUP BY v.ordinal ORDER BY distance, v.ordinal DESC) AS measured
    ${admitted} ORDER BY distance, measured.ordinal DESC LIMIT ${count}`;
}

/** The memories in scope that own the `most` vectors nearest to one, or about those, by the index of a model. */
export function nearestByIndex(scope: Scope, model: SearchedModel, vector: Sql, most: number): Sql {
  const { getCodes, predicate } = indexedBy(model);
  // In no form that an index knows: a planner without statistics takes the primary key for the faster way, to the codes of
  // all vectors. And where nearly all are in scope, only those are looked up that are near enough.
  const walked = scope.isOpen ? raw('') : sql`AND ${isAdmitted(scope, raw('v.ordinal'))}`;
  const admitted = scope.isOpen ? admission(scope, raw('near.ordinal')) : raw('');
  return sql`
    SELECT near.ordinal, near.walked FROM (
      SELECT ordinal, sum(count(*)) OVER ()::integer AS walked, min(distance) AS distance FROM (
        SELECT ordinal, distance FROM (
          SELECT v.ordinal, v.embedding <=> ${vector}::halfvec AS distance FROM memory_vector v
          WHERE v.${predicate} AND (v.namespace = ${scope.namespace}) IS TRUE ${walked}
          ORDER BY ${getCodes(raw('v.embedding'))} <~> ${getCodes(vector)} LIMIT ${most * RESCORED}) AS proposed
        ORDER BY distance LIMIT ${most}) AS nearest
      GROUP BY ordinal) AS near
    ${admitted} ORDER BY near.distance, near.ordinal DESC`;
}
