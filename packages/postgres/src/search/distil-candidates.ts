import {
  type BackgroundRequest,
  DISTILLABLE,
  type DistilCandidate,
  type DistilCandidates,
  type DistilCandidatesRequest,
  type DistilNeighbor,
  getBackground,
  getDistinctiveWords,
  getMaxRareWordFrequency,
  hasOwners,
  isPromoted,
  liveAndPassing,
  MAX_SAMPLED,
  MAX_VECTORS,
  NEAREST,
  PASSED_AT_ONCE,
  type Queries,
  raw,
  type Sql,
  sql,
  WORDS_CHARS,
} from '@memoryd/core';
import { type Digest, groupByOwner, type Owner, type OwnerFilter, termDigest } from '@memoryd/search';
import { memoriesBy, POSTGRES } from '../dialect.ts';
import { nearestByIndex, nearestOfAll } from './nearest.ts';
import { getScope, isFewVectors, type Scope, type SearchedModel } from './scope.ts';

/** See `Storage.distilCandidates`. Must run in a snapshot. */
export async function distilCandidates(queries: Queries, request: DistilCandidatesRequest): Promise<DistilCandidates> {
  const scope = await getScope(queries, { ...request, filter: {} });
  if (!scope.model) return { candidates: [] };
  const context: Context = { queries, request, scope, model: scope.model };
  const members = await getReadyMembers(context);
  const fit = members.filter(({ isFit }) => isFit);
  const neighbors = new Map<number, DistilNeighbor[]>();
  for (const [owner, owned] of await loadByOwner(context, fit)) {
    const ordinals = owned.map(({ ordinal }) => ordinal);
    for (const [ordinal, near] of await getNeighbors(await limitToOwner(context, owner), ordinals))
      neighbors.set(ordinal, near);
  }
  const candidates = members.map(({ ordinal, version, isFit, userId, agentId, ...group }): DistilCandidate => {
    const near = isFit ? (neighbors.get(ordinal) ?? []) : [];
    return { ordinal, version, userId, agentId, ...getGroup(group), neighbors: near };
  });
  const next = candidates.length === request.limit ? members.at(-1)?.ordinal : await getLastScanned(context);
  return { candidates, ...(next !== undefined && { next }) };
}

/** Groups memories by owner, because only memories of one owner are distilled together. */
async function loadByOwner(
  { queries, request }: Context,
  members: readonly Member[],
): Promise<[OwnerFilter, Member[]][]> {
  if (members.length === 0) return [];
  if (!(await hasOwners(queries, request.namespace))) return [[{}, [...members]]];
  return groupByOwner(members).map(([owner, owned]) => [toFilter(owner), owned]);
}

function toFilter({ userId, agentId }: Owner): OwnerFilter {
  return { userIds: [userId], agentIds: [agentId] };
}

async function limitToOwner(context: Context, owner: OwnerFilter): Promise<Context> {
  if (!owner.userIds) return context;
  return { ...context, owner, scope: await getScope(context.queries, { ...context.request, filter: owner }) };
}

interface Context {
  queries: Queries;
  request: DistilCandidatesRequest;
  scope: Scope;
  model: SearchedModel;
  /** The owner of the memories in scope. Absent if no memory of the namespace has an owner. */
  owner?: OwnerFilter;
}

interface Membership {
  semantic: number | null;
  sourceCount: number;
}

interface Member extends Membership, Owner {
  ordinal: number;
  version: number;
  /** True if the memory can be distilled. */
  isFit: boolean;
}

/** SQL: condition that `memory m` can be distilled. */
const FIT = raw(`m.tier <> 'semantic' AND ${DISTILLABLE}`);

const MEMBERSHIP = raw(`l.semantic, (SELECT count(*) FROM memory_source o
  WHERE o.namespace = l.namespace AND o.semantic = l.semantic) AS "sourceCount"`);
const WITH_MEMBERSHIP = raw(`LEFT JOIN LATERAL (
  SELECT * FROM memory_source WHERE namespace = m.namespace AND source = m.ordinal OFFSET 0) AS l ON true`);

function getGroup({ semantic, sourceCount }: Membership): Pick<DistilNeighbor, 'group'> {
  return semantic === null ? {} : { group: { semantic, sourceCount } };
}

/** Returns the next queued memories that are promoted and, if they can be distilled, have vectors. */
function getReadyMembers({ queries, request, model }: Context): Promise<Member[]> {
  const { namespace, after = 0, limit } = request;
  return queries.rows<Member>(sql`
    SELECT m.ordinal, m.user_id AS "userId", m.agent_id AS "agentId", m.version, (${FIT}) AS "isFit", ${MEMBERSHIP}
    FROM (SELECT ordinal FROM distil_candidate WHERE namespace = ${namespace} AND ordinal > ${after}
      ORDER BY ordinal LIMIT ${PASSED_AT_ONCE}) AS waiting
    CROSS JOIN ${memoriesBy('m', sql`namespace = ${namespace} AND ordinal = waiting.ordinal`)} ${WITH_MEMBERSHIP}
    CROSS JOIN LATERAL (
      SELECT model FROM recall_entry WHERE namespace = m.namespace AND ordinal = m.ordinal OFFSET 0) AS e
    WHERE ${isPromoted(request)} AND (NOT (${FIT}) OR e.model = ${model.number})
    ORDER BY waiting.ordinal LIMIT ${limit}`);
}

/**
 * Returns the last queue position that a call scans, even if the call has found too few memories; undefined if the
 * queue ends before that position.
 */
async function getLastScanned({ queries, request }: Context): Promise<number | undefined> {
  const { namespace, after = 0 } = request;
  const last = await queries.row<{ ordinal: number }>(sql`
    SELECT ordinal FROM distil_candidate WHERE namespace = ${namespace} AND ordinal > ${after}
    ORDER BY ordinal OFFSET ${PASSED_AT_ONCE - 1} LIMIT 1`);
  return last?.ordinal;
}

/** Returns the nearest memories with which each candidate can be distilled. */
async function getNeighbors(context: Context, candidates: readonly number[]): Promise<Map<number, DistilNeighbor[]>> {
  const neighbors = new Map<number, DistilNeighbor[]>(candidates.map((ordinal) => [ordinal, []]));
  if (candidates.length === 0) return neighbors;
  const rare = await getRareWordHolders(context, candidates);
  for (const { candidate, ordinal, cosine, ...membership } of await getNearMembers(context, candidates)) {
    const sharedRareWords = rare.get(candidate)?.filter((holders) => holders.has(ordinal)).length ?? 0;
    neighbors.get(candidate)?.push({ ordinal, cosine, sharedRareWords, ...getGroup(membership) });
  }
  return neighbors;
}

interface NearMember extends Membership {
  candidate: number;
  ordinal: number;
  cosine: number;
}

async function getNearMembers(context: Context, candidates: readonly number[]): Promise<NearMember[]> {
  const { queries, request, scope, model } = context;
  const vector = raw('candidate.embedding');
  const isFew = isFewVectors(scope, model, NEAREST);
  const near = isFew ? nearestOfAll(scope, model, vector, NEAREST) : nearestByIndex(scope, model, vector, NEAREST);
  return queries.rows<NearMember>(sql`
    WITH candidate AS MATERIALIZED (
        SELECT ordinal, embedding FROM memory_vector
        WHERE namespace = ${scope.namespace} AND ordinal = ANY(${candidates}::bigint[]) AND part < ${MAX_VECTORS}),
      near AS MATERIALIZED (
        SELECT DISTINCT candidate.ordinal AS candidate, near.ordinal FROM candidate CROSS JOIN LATERAL (${near}) AS near
        WHERE near.ordinal <> candidate.ordinal)
    SELECT near.candidate, m.ordinal, ${MEMBERSHIP}, (
      SELECT 1 - min(candidate.embedding <=> v.embedding) FROM candidate JOIN memory_vector v
        ON v.namespace = m.namespace AND v.ordinal = m.ordinal WHERE candidate.ordinal = near.candidate) AS cosine
    FROM near CROSS JOIN ${memoriesBy('m', sql`namespace = ${scope.namespace} AND ordinal = near.ordinal`)}
    ${WITH_MEMBERSHIP}
    WHERE ${FIT} AND ${isPromoted(request)}
    ORDER BY near.candidate, cosine DESC, m.ordinal DESC`);
}

/** Returns, for each rare word of each candidate, the memories of the owner that contain it. */
async function getRareWordHolders(
  context: Context,
  candidates: readonly number[],
): Promise<Map<number, Set<number>[]>> {
  const { queries, request, scope, owner } = context;
  const { namespace } = request;
  const texts = await queries.rows<{ ordinal: number; text: string; sessionId: string | null }>(sql`
    SELECT ordinal, left(content, ${WORDS_CHARS}) AS text, session_id AS "sessionId" FROM memory
    WHERE namespace = ${namespace} AND ordinal = ANY(${candidates}::bigint[])`);
  const words = texts.map(({ ordinal, text, sessionId }) => {
    const telling = getDistinctiveWords(text, sessionId);
    return { ordinal, words: telling.map((forms) => forms.map((form) => termDigest(namespace, form))) };
  });
  const terms = [...new Set(words.flatMap((candidate) => candidate.words.flat()))];
  const { memoryCount, holders } = owner
    ? await getHoldersOfOwner(context, terms)
    : { memoryCount: scope.memoryCount, holders: await getHolders(queries, namespace, terms, scope.memoryCount) };
  const maxHolders = getMaxRareWordFrequency(memoryCount);
  return new Map(
    words.map(({ ordinal, words }) => {
      const memories = words.map((forms) => new Set(forms.flatMap((form) => holders.get(form) ?? [])));
      return [ordinal, memories.filter(({ size }) => size <= maxHolders)];
    }),
  );
}

/**
 * Returns, for each term, the memories that contain it, without semantic memories. Returns only one memory more than a
 * rare word may have.
 */
async function getHolders(
  queries: Queries,
  namespace: string,
  terms: readonly Digest[],
  memoryCount: number,
): Promise<Map<Digest, number[]>> {
  const held = await queries.rows<HeldTerm>(sql`
    SELECT term, ARRAY(SELECT p.ordinal FROM posting p
      WHERE p.namespace = ${namespace} AND p.term = asked.term AND NOT p.is_semantic
      LIMIT ${getMaxRareWordFrequency(memoryCount) + 1}) AS ordinals
    FROM unnest(${terms}::bigint[]) AS asked(term)`);
  return new Map(held.map(({ term, ordinals }) => [term, ordinals]));
}

interface HeldTerm {
  term: Digest;
  ordinals: number[];
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
): Promise<{ memoryCount: number; holders: Map<Digest, number[]> }> {
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
export async function backgroundCosine(queries: Queries, request: BackgroundRequest): Promise<number> {
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
        ORDER BY text_digest LIMIT ${MAX_SAMPLED}),
      sampled AS MATERIALIZED (SELECT embedding, row_number() OVER (ORDER BY text_digest) AS place FROM first)
    SELECT (SELECT count(*) FROM sampled) AS count, array_agg(cosine ORDER BY later, earlier) AS cosines FROM (
      SELECT one.place AS later, other.place AS earlier, (1 - (one.embedding <=> other.embedding))::real AS cosine
      FROM sampled one JOIN sampled other ON other.place < one.place) AS pair`);
  const { count = 0, cosines } = found ?? {};
  // The cosines of text n and the earlier texts follow n * (n - 1) / 2 cosines of texts before text n.
  return getBackground(count, (one, other) => {
    const [earlier, later] = one < other ? [one, other] : [other, one];
    return (cosines ?? [])[(later * (later - 1)) / 2 + earlier] as number;
  });
}
