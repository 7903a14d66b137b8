import {
  DISTILLABLE,
  type Digest,
  type DistilCandidate,
  type DistilCandidates,
  type DistilCandidatesRequest,
  type DistilNeighbour,
  groupedByOwner,
  hasOwners,
  isPromoted,
  MAX_VECTORS,
  mostMemoriesOfRareWord,
  NEAREST,
  type Owner,
  type OwnerFilter,
  PASSED_AT_ONCE,
  type Queries,
  raw,
  sql,
  tellingWords,
  termDigest,
  WORDS_CHARS,
} from '@memoryd/engine/storage-kit';
import { memoriesBy } from '../dialect.ts';
import { nearestByIndex, nearestOfAll } from './nearest.ts';
import { getScope, isFewVectors, type Scope, type SearchedModel } from './scope.ts';

/** See `Storage.distilCandidates`. To be asked in a snapshot. */
export async function distilCandidates(queries: Queries, request: DistilCandidatesRequest): Promise<DistilCandidates> {
  const scope = await getScope(queries, { ...request, filter: {} });
  if (!scope.model) return { candidates: [] };
  const look: Look = { queries, request, scope, model: scope.model };
  const members = await readyMembers(look);
  const fit = members.filter(({ isFit }) => isFit);
  const neighbours = new Map<number, DistilNeighbour[]>();
  for (const [of, owned] of await byOwner(look, fit)) {
    const ordinals = owned.map(({ ordinal }) => ordinal);
    for (const [ordinal, near] of await getNeighbours(await limitedTo(look, of), ordinals))
      neighbours.set(ordinal, near);
  }
  const candidates = members.map(({ ordinal, version, isFit, userId: _, agentId: __, ...group }): DistilCandidate => {
    const near = isFit ? (neighbours.get(ordinal) ?? []) : [];
    return { ordinal, version, ...getGroup(group), neighbours: near };
  });
  const next = candidates.length === request.limit ? members.at(-1)?.ordinal : await lastPassed(look);
  return { candidates, ...(next !== undefined && { next }) };
}

/** Memories by those that may be distilled with them; one filter lets all of them through where none has an owner. */
async function byOwner({ queries, request }: Look, members: readonly Member[]): Promise<[OwnerFilter, Member[]][]> {
  if (members.length === 0) return [];
  if (!(await hasOwners(queries, request.namespace))) return [[{}, [...members]]];
  return groupedByOwner(members).map(([{ userId, agentId }, owned]) => [
    { userIds: [userId], agentIds: [agentId] },
    owned,
  ]);
}

async function limitedTo(look: Look, of: OwnerFilter): Promise<Look> {
  if (!of.userIds) return look;
  return { ...look, scope: await getScope(look.queries, { ...look.request, filter: of }) };
}

interface Look {
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
  /** Whether it can be distilled. */
  isFit: boolean;
}

/** A condition on `memory m`: memories may be distilled from it. */
const FIT = raw(`m.tier <> 'semantic' AND ${DISTILLABLE}`);

const MEMBERSHIP = raw(`l.semantic, (SELECT count(*) FROM memory_source o
  WHERE o.namespace = l.namespace AND o.semantic = l.semantic) AS "sourceCount"`);
const WITH_MEMBERSHIP = raw(`LEFT JOIN LATERAL (
  SELECT * FROM memory_source WHERE namespace = m.namespace AND source = m.ordinal OFFSET 0) AS l ON true`);

function getGroup({ semantic, sourceCount }: Membership): Pick<DistilNeighbour, 'group'> {
  return semantic === null ? {} : { group: { semantic, sourceCount } };
}

/** Of those that wait, the next that have promoted, and have vectors where others could be distilled with them. */
function readyMembers({ queries, request, model }: Look): Promise<Member[]> {
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

/** Where a call stops that finds too few among all that it goes past; undefined where no more wait. */
async function lastPassed({ queries, request }: Look): Promise<number | undefined> {
  const { namespace, after = 0 } = request;
  const last = await queries.row<{ ordinal: number }>(sql`
    SELECT ordinal FROM distil_candidate WHERE namespace = ${namespace} AND ordinal > ${after}
    ORDER BY ordinal OFFSET ${PASSED_AT_ONCE - 1} LIMIT 1`);
  return last?.ordinal;
}

/** The nearest memories that candidates can be distilled with, by candidate. */
async function getNeighbours(look: Look, candidates: readonly number[]): Promise<Map<number, DistilNeighbour[]>> {
  const neighbours = new Map<number, DistilNeighbour[]>(candidates.map((ordinal) => [ordinal, []]));
  if (candidates.length === 0) return neighbours;
  const rare = await rareWords(look, candidates);
  for (const { candidate, ordinal, cosine, ...membership } of await nearMembers(look, candidates)) {
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

async function nearMembers(look: Look, candidates: readonly number[]): Promise<NearMember[]> {
  const { queries, request, scope, model } = look;
  const vector = raw('looking.embedding');
  const isFew = isFewVectors(scope, model, NEAREST);
  const near = isFew ? nearestOfAll(scope, model, vector, NEAREST) : nearestByIndex(scope, model, vector, NEAREST);
  return queries.rows<NearMember>(sql`
    WITH looking AS MATERIALIZED (
        SELECT ordinal, embedding FROM memory_vector
        WHERE namespace = ${scope.namespace} AND ordinal = ANY(${candidates}::bigint[]) AND part < ${MAX_VECTORS}),
      near AS MATERIALIZED (
        SELECT DISTINCT looking.ordinal AS candidate, near.ordinal FROM looking CROSS JOIN LATERAL (${near}) AS near
        WHERE near.ordinal <> looking.ordinal)
    SELECT near.candidate, m.ordinal, ${MEMBERSHIP}, (
      SELECT 1 - min(looking.embedding <=> v.embedding) FROM looking JOIN memory_vector v
        ON v.namespace = m.namespace AND v.ordinal = m.ordinal WHERE looking.ordinal = near.candidate) AS cosine
    FROM near CROSS JOIN ${memoriesBy('m', sql`namespace = ${scope.namespace} AND ordinal = near.ordinal`)}
    ${WITH_MEMBERSHIP}
    WHERE ${FIT} AND ${isPromoted(request)}
    ORDER BY near.candidate, cosine DESC, m.ordinal DESC`);
}

/** For each rare word of each candidate, the memories that hold it. */
async function rareWords(
  { queries, request, scope }: Look,
  candidates: readonly number[],
): Promise<Map<number, Set<number>[]>> {
  const { namespace } = request;
  const texts = await queries.rows<{ ordinal: number; text: string; sessionId: string | null }>(sql`
    SELECT ordinal, left(content, ${WORDS_CHARS}) AS text, session_id AS "sessionId" FROM memory
    WHERE namespace = ${namespace} AND ordinal = ANY(${candidates}::bigint[])`);
  const words = texts.map(({ ordinal, text, sessionId }) => {
    const telling = tellingWords(text, sessionId);
    return { ordinal, words: telling.map((forms) => forms.map((form) => termDigest(namespace, form))) };
  });
  const most = mostMemoriesOfRareWord(scope.memoryCount);
  const terms = new Set(words.flatMap((candidate) => candidate.words.flat()));
  const holders = await getHolders(queries, namespace, [...terms], most);
  return new Map(
    words.map(({ ordinal, words }) => {
      const memories = words.map((forms) => new Set(forms.flatMap((form) => holders.get(form) ?? [])));
      return [ordinal, memories.filter(({ size }) => size <= most)];
    }),
  );
}

/** Of each term, the memories but semantic ones that hold it; of more than `most` one more than that. */
async function getHolders(
  queries: Queries,
  namespace: string,
  terms: readonly Digest[],
  most: number,
): Promise<Map<Digest, number[]>> {
  const held = await queries.rows<{ term: Digest; ordinals: number[] }>(sql`
    SELECT term, ARRAY(SELECT p.ordinal FROM posting p
      WHERE p.namespace = ${namespace} AND p.term = asked.term AND NOT p.is_semantic LIMIT ${most + 1}) AS ordinals
    FROM unnest(${terms}::bigint[]) AS asked(term)`);
  return new Map(held.map(({ term, ordinals }) => [term, ordinals]));
}
