import {
  DISTILLABLE,
  type Digest,
  type DistilCandidate,
  type DistilCandidates,
  type DistilCandidatesRequest,
  type DistilNeighbour,
  getDistinctiveWords,
  getMaxRareWordFrequency,
  groupByOwner,
  hasOwners,
  isPromoted,
  MAX_VECTORS,
  NEAREST,
  type Owner,
  type OwnerFilter,
  PASSED_AT_ONCE,
  type Queries,
  raw,
  sql,
  termDigest,
  WORDS_CHARS,
} from '@memoryd/engine/storage-kit';
import { memoriesBy } from '../dialect.ts';
import { nearestByIndex, nearestOfAll } from './nearest.ts';
import { getScope, isFewVectors, type Scope, type SearchedModel } from './scope.ts';

/** See `Storage.distilCandidates`. Must run in a snapshot. */
export async function distilCandidates(queries: Queries, request: DistilCandidatesRequest): Promise<DistilCandidates> {
  const scope = await getScope(queries, { ...request, filter: {} });
  if (!scope.model) return { candidates: [] };
  const context: Context = { queries, request, scope, model: scope.model };
  const members = await getReadyMembers(context);
  const fit = members.filter(({ isFit }) => isFit);
  const neighbours = new Map<number, DistilNeighbour[]>();
  for (const [owner, owned] of await loadByOwner(context, fit)) {
    const ordinals = owned.map(({ ordinal }) => ordinal);
    for (const [ordinal, near] of await getNeighbours(await limitToOwner(context, owner), ordinals))
      neighbours.set(ordinal, near);
  }
  const candidates = members.map(({ ordinal, version, isFit, userId: _, agentId: __, ...group }): DistilCandidate => {
    const near = isFit ? (neighbours.get(ordinal) ?? []) : [];
    return { ordinal, version, ...getGroup(group), neighbours: near };
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
  return groupByOwner(members).map(([{ userId, agentId }, owned]) => [
    { userIds: [userId], agentIds: [agentId] },
    owned,
  ]);
}

async function limitToOwner(context: Context, owner: OwnerFilter): Promise<Context> {
  if (!owner.userIds) return context;
  return { ...context, scope: await getScope(context.queries, { ...context.request, filter: owner }) };
}

interface Context {
  queries: Queries;
  request: DistilCandidatesRequest;
  scope: Scope;
  model: SearchedModel;
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

function getGroup({ semantic, sourceCount }: Membership): Pick<DistilNeighbour, 'group'> {
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
async function getNeighbours(context: Context, candidates: readonly number[]): Promise<Map<number, DistilNeighbour[]>> {
  const neighbours = new Map<number, DistilNeighbour[]>(candidates.map((ordinal) => [ordinal, []]));
  if (candidates.length === 0) return neighbours;
  const rare = await getRareWordHolders(context, candidates);
  for (const { candidate, ordinal, cosine, ...membership } of await getNearMembers(context, candidates)) {
    const sharedRareWords = rare.get(candidate)?.filter((holders) => holders.has(ordinal)).length ?? 0;
    neighbours.get(candidate)?.push({ ordinal, cosine, sharedRareWords, ...getGroup(membership) });
  }
  return neighbours;
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

/** Returns, for each rare word of each candidate, the memories that contain it. */
async function getRareWordHolders(
  { queries, request, scope }: Context,
  candidates: readonly number[],
): Promise<Map<number, Set<number>[]>> {
  const { namespace } = request;
  const texts = await queries.rows<{ ordinal: number; text: string; sessionId: string | null }>(sql`
    SELECT ordinal, left(content, ${WORDS_CHARS}) AS text, session_id AS "sessionId" FROM memory
    WHERE namespace = ${namespace} AND ordinal = ANY(${candidates}::bigint[])`);
  const words = texts.map(({ ordinal, text, sessionId }) => {
    const telling = getDistinctiveWords(text, sessionId);
    return { ordinal, words: telling.map((forms) => forms.map((form) => termDigest(namespace, form))) };
  });
  const maxHolders = getMaxRareWordFrequency(scope.memoryCount);
  const terms = new Set(words.flatMap((candidate) => candidate.words.flat()));
  const holders = await getHolders(queries, namespace, [...terms], maxHolders);
  return new Map(
    words.map(({ ordinal, words }) => {
      const memories = words.map((forms) => new Set(forms.flatMap((form) => holders.get(form) ?? [])));
      return [ordinal, memories.filter(({ size }) => size <= maxHolders)];
    }),
  );
}

/** Returns, for each term, up to `maxHolders + 1` memories that contain it, without semantic memories. */
async function getHolders(
  queries: Queries,
  namespace: string,
  terms: readonly Digest[],
  maxHolders: number,
): Promise<Map<Digest, number[]>> {
  const held = await queries.rows<{ term: Digest; ordinals: number[] }>(sql`
    SELECT term, ARRAY(SELECT p.ordinal FROM posting p
      WHERE p.namespace = ${namespace} AND p.term = asked.term AND NOT p.is_semantic LIMIT ${maxHolders + 1}) AS ordinals
    FROM unnest(${terms}::bigint[]) AS asked(term)`);
  return new Map(held.map(({ term, ordinals }) => [term, ordinals]));
}
