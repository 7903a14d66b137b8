import type {
  BackgroundRequest,
  DistilCandidate,
  DistilCandidates,
  DistilCandidatesRequest,
  DistilNeighbor,
} from '@memoryd/core';
import {
  aheadFrom,
  DISTILLABLE,
  getBackground,
  getDistinctiveWords,
  getMaxRareWordFrequency,
  MAX_SAMPLED,
  MAX_VECTORS,
  NEAREST,
  PASSED_AT_ONCE,
  WORDS_CHARS,
} from '@memoryd/core';
import type { IndexQuery, Owner, RecallIndex } from '@memoryd/search';
import {
  type Digest,
  dotInt8,
  getModel,
  getTerms,
  getVectors,
  type Int8Vector,
  namespaceDigest,
  termDigest,
  toFloats,
} from '@memoryd/search';
import { type Connection, sql } from '../connection.ts';
import { readEntry } from '../recall-entry.ts';
import { ownerLabels } from './words.ts';

/** Condition: stored long enough ago to be promoted. See `Promotion`. */
const OLD_ENOUGH = '(m.stored_at <= @promotedUntil OR m.stored_at >= @aheadFrom)';

/**
 * Number of indexed memories from which the search for a candidate's neighbors takes several milliseconds. From this
 * size, each call processes only one candidate, so that recall is not delayed.
 */
const LARGE_INDEX = 250_000;

/** See `Storage.distilCandidates`. Must run in a transaction, with the index updated to its snapshot. */
export function distilCandidates(
  connection: Connection,
  index: RecallIndex,
  request: DistilCandidatesRequest,
): DistilCandidates {
  if (!index.model) return { candidates: [] };
  const limit = index.size < LARGE_INDEX ? request.limit : 1;
  const candidates: DistilCandidate[] = [];
  const queued = readQueueAfter(connection, request);
  let search: OwnerSearch | undefined;
  for (const { ordinal, userId, agentId } of queued) {
    if (search?.userId !== userId || search.agentId !== agentId) {
      const indexQuery = beginOwnerQuery(index, request, { userId, agentId });
      const maxMemories = getMaxRareWordFrequency(indexQuery.countMemories());
      search = { connection, index, indexQuery, request, maxMemories, userId, agentId };
    }
    const candidate = getCandidate(search, ordinal);
    if (candidate) candidates.push(candidate);
    if (candidates.length === limit) return { candidates, next: ordinal };
  }
  const last = queued.at(-1)?.ordinal;
  return { candidates, ...(last !== undefined && queued.length === PASSED_AT_ONCE && { next: last }) };
}

function beginOwnerQuery(
  index: RecallIndex,
  { namespace, now }: Pick<DistilCandidatesRequest, 'namespace' | 'now'>,
  { userId, agentId }: Owner,
): IndexQuery {
  const labels = ownerLabels(namespace, { userIds: [userId], agentIds: [agentId] });
  return index.beginQuery({ namespace: namespaceDigest(namespace), now, ...labels, labels: [], filter: {} });
}

/** A search for the neighbors of candidates among the memories of one owner. */
interface OwnerSearch extends Owner {
  connection: Connection;
  index: RecallIndex;
  indexQuery: IndexQuery;
  request: DistilCandidatesRequest;
  /** A word is rare if at most this number of the owner's memories contain the word. */
  maxMemories: number;
}

function readQueueAfter(
  connection: Connection,
  { namespace, after = 0 }: DistilCandidatesRequest,
): (Owner & { ordinal: number })[] {
  return sql(
    connection,
    `SELECT c.ordinal, m.user_id AS userId, m.agent_id AS agentId
     FROM distil_candidate c CROSS JOIN memory m USING (ordinal)
     WHERE c.namespace = ? AND c.ordinal > ? ORDER BY c.ordinal LIMIT ?`,
  ).all(namespace, after, PASSED_AT_ONCE) as (Owner & { ordinal: number })[];
}

/**
 * Returns a queued memory with its neighbors, or undefined if the memory must stay queued until it is promoted or
 * embedded. A memory that cannot be distilled has no neighbors.
 */
function getCandidate(search: OwnerSearch, ordinal: number): DistilCandidate | undefined {
  const member = readMember(search, ordinal);
  if (!member || member.isYoung) return undefined;
  const { userId, agentId } = search;
  const candidate = { ordinal, userId, agentId, version: member.version, ...getGroup(member) };
  if (!member.isFit) return { ...candidate, neighbors: [] };
  const entry = readEntry(search.connection, ordinal);
  if (!entry || getModel(entry) !== search.index.model?.number) return undefined;
  return { ...candidate, neighbors: getNeighbors(search, ordinal, entry) };
}

interface Member {
  version: number;
  /** 1 if stored too recently to be promoted, otherwise 0. */
  isYoung: number;
  /** 1 if distillable once promoted, otherwise 0. */
  isFit: number;
  semantic: number | null;
  sourceCount: number;
}

function readMember({ connection, request, userId, agentId }: OwnerSearch, ordinal: number): Member | undefined {
  return sql(
    connection,
    `SELECT m.version, m.tier = 'working' AND NOT ${OLD_ENOUGH} AS isYoung,
       m.tier <> 'semantic' AND ${DISTILLABLE} AS isFit, l.semantic,
       (SELECT count(*) FROM memory_source o WHERE o.semantic = l.semantic) AS sourceCount
     FROM memory m LEFT JOIN memory_source l ON l.source = m.ordinal
     WHERE m.ordinal = @ordinal AND m.user_id = @userId AND m.agent_id = @agentId`,
  ).get({ ordinal, userId, agentId, promotedUntil: request.promotedUntil, aheadFrom: aheadFrom(request) }) as
    | Member
    | undefined;
}

function getGroup({ semantic, sourceCount }: Member): Pick<DistilNeighbor, 'group'> {
  return semantic === null ? {} : { group: { semantic, sourceCount } };
}

function getNeighbors(search: OwnerSearch, ordinal: number, entry: Buffer): DistilNeighbor[] {
  const vectors = getVectors(entry).slice(0, MAX_VECTORS);
  const values = vectors.map(toFloats);
  const near = nearestTo(search, ordinal, vectors);
  const rare = rareWords(search, ordinal);
  const neighbors: DistilNeighbor[] = [];
  for (const other of near) {
    const member = readMember(search, other);
    if (!member?.isFit || member.isYoung) continue;
    const otherEntry = readEntry(search.connection, other) as Buffer;
    const terms = new Set(getTerms(otherEntry));
    neighbors.push({
      ordinal: other,
      cosine: nearestCosine(values, getVectors(otherEntry)),
      sharedRareWords: rare.filter((forms) => forms.some((form) => terms.has(form))).length,
      ...getGroup(member),
    });
  }
  return neighbors;
}

function nearestTo({ index, indexQuery }: OwnerSearch, ordinal: number, vectors: readonly Int8Vector[]): Set<number> {
  const near = new Set<number>();
  for (const vector of vectors) {
    for (const { row } of indexQuery.nearest(vector, { count: NEAREST })) near.add(index.ordinal(row));
  }
  near.delete(ordinal);
  return near;
}

function nearestCosine(values: readonly Float32Array[], vectors: readonly Int8Vector[]): number {
  return Math.max(...values.flatMap((one) => vectors.map((other) => dotInt8(one, other))));
}

/**
 * Returns the distinctive words of a memory that occur in at most `maxMemories` memories of the owner, each as the
 * digests of its forms.
 */
function rareWords({ connection, indexQuery, request, maxMemories }: OwnerSearch, ordinal: number): Digest[][] {
  const { text, sessionId } = sql(
    connection,
    `SELECT substr(content, 1, ${WORDS_CHARS}) AS text, session_id AS sessionId FROM memory WHERE ordinal = ?`,
  ).get(ordinal) as { text: string; sessionId: string | null };
  const words = getDistinctiveWords(text, sessionId).map((forms) =>
    forms.map((form) => termDigest(request.namespace, form)),
  );
  const frequencies = indexQuery.countInScope(words);
  return words.filter((_, i) => (frequencies[i] as number) <= maxMemories);
}

/** See `Storage.backgroundCosine`. Must run in a transaction, with the index updated to its snapshot. */
export function backgroundCosine(connection: Connection, index: RecallIndex, request: BackgroundRequest): number {
  const indexQuery = beginOwnerQuery(index, request, request.owner);
  const digest = sql(connection, 'SELECT hex(text_digest) FROM memory WHERE ordinal = ?').pluck();
  // The index takes equal texts with different tags for different texts.
  const ordinalByDigest = new Map<string, number>();
  for (const row of indexQuery.sampleTexts(MAX_SAMPLED)) {
    const ordinal = index.ordinal(row);
    ordinalByDigest.set(digest.get(ordinal) as string, ordinal);
  }
  const vectors = [...ordinalByDigest.values()].map(
    (ordinal) => getVectors(readEntry(connection, ordinal) as Buffer)[0] as Int8Vector,
  );
  const values = vectors.map(toFloats);
  return getBackground(vectors.length, (one, other) =>
    dotInt8(values[one] as Float32Array, vectors[other] as Int8Vector),
  );
}
