import {
  DISTIL_LIMITS,
  type DistilSearch,
  getBackgroundCosine,
  liveAndPassing,
  modelInUse,
  type Queries,
  raw,
  type Sql,
  type Storage,
  distilCandidates as selectCandidates,
  sql,
} from '@memoryd/core';
import type { Digest, Owner, OwnerFilter } from '@memoryd/search';
import { POSTGRES } from '../dialect.ts';
import { nearestByIndex, nearestOfAll } from './nearest.ts';
import { getScope, isFewVectors, type Scope, type SearchedModel } from './scope.ts';

type DistilRequest = Parameters<Storage['distilCandidates']>[0];

/** See `Storage.distilCandidates`. Must run in a snapshot. */
export async function distilCandidates(
  queries: Queries,
  request: DistilRequest,
): ReturnType<Storage['distilCandidates']> {
  const scope = await getScope(queries, { ...request, filter: {} });
  const { model } = scope;
  if (!model) return { candidates: [] };
  return selectCandidates(queries, createDistilSearch({ queries, request, scope, model }), request);
}

type OwnerSearch = Awaited<ReturnType<DistilSearch['ofOwner']>>;

interface Context {
  queries: Queries;
  request: DistilRequest;
  scope: Scope;
  model: SearchedModel;
  /** The owner of the memories in scope. Absent if no memory of the namespace has an owner. */
  owner?: OwnerFilter;
}

function createDistilSearch(context: Context): DistilSearch {
  const { queries, request, model } = context;
  const { namespace } = request;
  let owned: Promise<boolean> | undefined;
  return {
    async findEmbedded(ordinals) {
      const embedded = await queries.rows<{ ordinal: number }>(sql`
        SELECT ordinal FROM recall_entry
        WHERE namespace = ${namespace} AND ordinal = ANY(${ordinals}::bigint[]) AND model = ${model.number}`);
      return new Set(embedded.map(({ ordinal }) => ordinal));
    },
    async ofOwner(owner) {
      owned ??= hasOwners(queries, namespace);
      if (!(await owned)) return createOwnerSearch(context);
      const filter = toFilter(owner);
      return createOwnerSearch({ ...context, owner: filter, scope: await getScope(queries, { ...request, filter }) });
    },
  };
}

/** Returns true if any memory of the namespace has a user or an agent. */
async function hasOwners(queries: Queries, namespace: string): Promise<boolean> {
  const found = await queries.row(sql`
    SELECT 1 FROM (
      SELECT * FROM (SELECT 1 FROM memory m WHERE m.namespace = ${namespace} AND m.user_id <> '' LIMIT 1) AS of_user
      UNION ALL
      SELECT * FROM (SELECT 1 FROM memory m WHERE m.namespace = ${namespace} AND m.agent_id <> '' LIMIT 1) AS of_agent)
      AS owned LIMIT 1`);
  return found !== undefined;
}

function toFilter({ userId, agentId }: Owner): OwnerFilter {
  return { userIds: [userId], agentIds: [agentId] };
}

function createOwnerSearch(context: Context): OwnerSearch {
  return {
    findNearest: (candidates) => findNearest(context, candidates),
    async findRareHolders(words, _, getMaxHolders) {
      const terms = [...new Set(words.flat())];
      const { memoryCount, holders } = context.owner
        ? await getHoldersOfOwner(context, terms)
        : await getHolders(context, terms, getMaxHolders(context.scope.memoryCount) + 1);
      const max = getMaxHolders(memoryCount);
      return words.map((forms) => {
        const ordinals = new Set(forms.flatMap((form) => holders.get(form) ?? []));
        return ordinals.size <= max ? ordinals : undefined;
      });
    },
  };
}

function findNearest(
  { queries, scope, model }: Context,
  candidates: readonly number[],
): ReturnType<OwnerSearch['findNearest']> {
  const vector = raw('candidate.embedding');
  const { nearest: count } = DISTIL_LIMITS;
  const isFew = isFewVectors(scope, model, count);
  const near = isFew ? nearestOfAll(scope, model, vector, count) : nearestByIndex(scope, model, vector, count);
  return queries.rows(sql`
    WITH candidate AS MATERIALIZED (
        SELECT ordinal, embedding FROM memory_vector
        WHERE namespace = ${scope.namespace} AND ordinal = ANY(${candidates}::bigint[]) AND part < ${DISTIL_LIMITS.vectors}),
      near AS MATERIALIZED (
        SELECT DISTINCT candidate.ordinal AS candidate, near.ordinal FROM candidate CROSS JOIN LATERAL (${near}) AS near
        WHERE near.ordinal <> candidate.ordinal)
    SELECT near.candidate, near.ordinal, (
      SELECT 1 - min(candidate.embedding <=> v.embedding) FROM candidate JOIN memory_vector v
        ON v.namespace = ${scope.namespace} AND v.ordinal = near.ordinal
      WHERE candidate.ordinal = near.candidate) AS cosine
    FROM near`);
}

interface Holders {
  memoryCount: number;
  /** For each term, the memories that contain it. */
  holders: Map<Digest, number[]>;
}

interface HeldTerm {
  term: Digest;
  ordinals: number[];
}

/** Returns at most `most` holders of each term in a namespace without owners. */
async function getHolders({ queries, scope }: Context, terms: readonly Digest[], most: number): Promise<Holders> {
  const { namespace, memoryCount } = scope;
  const held = await queries.rows<HeldTerm>(sql`
    SELECT term, ARRAY(SELECT p.ordinal FROM posting p
      WHERE p.namespace = ${namespace} AND p.term = asked.term AND NOT p.is_semantic
      LIMIT ${most}) AS ordinals
    FROM unnest(${terms}::bigint[]) AS asked(term)`);
  return { memoryCount, holders: new Map(held.map(({ term, ordinals }) => [term, ordinals])) };
}

/**
 * Maximum memories of an owner that are read for the statistics of the owner. Of more memories, these are the first in
 * the order of an index, which does not depend on other owners.
 */
const MAX_READ_OF_OWNER = 32_768;

/**
 * Returns the number of memories of the owner and, for each term, the memories of the owner that contain it, without
 * semantic memories. Reads the index entries of the owner, because a term can have any number of postings of other
 * owners.
 */
async function getHoldersOfOwner(
  { queries, request: { namespace, now }, owner = {} }: Context,
  terms: readonly Digest[],
): Promise<Holders> {
  const held = await queries.rows<HeldTerm & { memoryCount: number }>(sql`
    WITH owned AS MATERIALIZED (${selectOwned(namespace, owner, now)}),
      held AS (
        SELECT t.term, owned.ordinal FROM owned CROSS JOIN LATERAL (
          SELECT terms FROM recall_entry WHERE namespace = ${namespace} AND ordinal = owned.ordinal OFFSET 0) AS entry
        CROSS JOIN unnest(entry.terms) AS t(term) WHERE t.term = ANY(${terms}::bigint[])),
      counted AS (SELECT count(*) AS count FROM owned)
    SELECT term, array_agg(ordinal) AS ordinals, (SELECT count FROM counted) AS "memoryCount" FROM held GROUP BY term`);
  return {
    memoryCount: held[0]?.memoryCount ?? 0,
    holders: new Map(held.map(({ term, ordinals }) => [term, ordinals])),
  };
}

/** SQL: `text_digest` and `ordinal` of the live memories of an owner that are not semantic. */
function selectOwned(namespace: string, owner: OwnerFilter, now: number): Sql {
  // Without an owner, the newest memories are read, because the planner would read the oldest.
  const order = owner.userIds ? raw('') : raw('ORDER BY m.created_at DESC, m.ordinal DESC');
  return sql`
    SELECT m.text_digest, m.ordinal FROM memory m
    WHERE ${liveAndPassing(POSTGRES, namespace, owner, now)} AND m.tier <> 'semantic' ${order} LIMIT ${MAX_READ_OF_OWNER}`;
}

/** See `Storage.backgroundCosine`. Must run in a snapshot. */
export async function backgroundCosine(
  queries: Queries,
  request: Parameters<Storage['backgroundCosine']>[0],
): Promise<number> {
  const { namespace, now } = request;
  const owner = (await hasOwners(queries, namespace)) ? toFilter(request.owner) : {};
  // Digests are in random order, so the first texts are a random sample.
  const found = await queries.row<{ count: number; cosines: number[] | null }>(sql`
    WITH text AS (
        SELECT DISTINCT ON (text_digest) text_digest, ordinal FROM (${selectOwned(namespace, owner, now)}) AS owned
        ORDER BY text_digest, ordinal),
      first AS (
        SELECT text_digest, v.embedding FROM text CROSS JOIN LATERAL (
          SELECT model, embedding FROM memory_vector
          WHERE namespace = ${namespace} AND ordinal = text.ordinal AND part = 0 OFFSET 0) AS v
        JOIN embedding_model ON no = v.model AND in_use
        ORDER BY text_digest LIMIT ${DISTIL_LIMITS.sampled}),
      sampled AS MATERIALIZED (SELECT embedding, row_number() OVER (ORDER BY text_digest) AS place FROM first)
    SELECT (SELECT count(*) FROM sampled) AS count, array_agg(cosine ORDER BY later, earlier) AS cosines FROM (
      SELECT one.place AS later, other.place AS earlier, (1 - (one.embedding <=> other.embedding))::real AS cosine
      FROM sampled one JOIN sampled other ON other.place < one.place) AS pair`);
  const { count = 0, cosines } = found ?? {};
  // The cosines of text n and the earlier texts follow n * (n - 1) / 2 cosines of texts before text n.
  const getCosine = (one: number, other: number) => {
    const [earlier, later] = one < other ? [one, other] : [other, one];
    return (cosines ?? [])[(later * (later - 1)) / 2 + earlier] as number;
  };
  return getBackgroundCosine(count, getCosine, await modelInUse(queries));
}
