import { type CosineScale, type Digest, groupByOwner, type Owner, termDigest, toUsualCosine } from '@memoryd/search';
import { DISTIL_LIMITS, getBackground } from '../distil/bounds.ts';
import { getDistinctiveWords, getMaxRareWordFrequency } from '../distil/group.ts';
import type {
  DistilCandidate,
  DistilCandidates,
  DistilCandidatesRequest,
  DistilNeighbor,
} from '../ports/storage-consolidation.ts';
import { getCosineScales, type ModelInUse, modelInUse } from './database-marks.ts';
import { DISTILLABLE, isPromoted } from './filters.ts';
import type { Queries } from './queries.ts';
import { raw, sql } from './sql.ts';

/** A memory near a candidate. `cosine` is that of the nearest parts, from -1 to 1. */
interface NearMemory {
  candidate: number;
  ordinal: number;
  cosine: number;
}

/** The search of a database among the memories of one owner. */
interface OwnerSearch {
  /** Returns the memories with the nearest vectors of each candidate, without the candidate; see `DISTIL_LIMITS`. */
  findNearest(candidates: readonly number[]): Promise<NearMemory[]>;
  /**
   * Finds the holders of rare words: at least those of the examined memories that contain the word. Each word is a list
   * of alternative terms. Semantic memories do not count.
   *
   * @param examined the memories whose words matter
   * @param getMaxHolders returns the maximum number of holders of a rare word, from the number of memories of the owner
   * @returns the holders of each rare word; undefined for other words
   */
  findRareHolders(
    words: readonly Digest[][],
    examined: readonly number[],
    getMaxHolders: (memoryCount: number) => number,
  ): Promise<(ReadonlySet<number> | undefined)[]>;
}

/** The search of a database for distilling, by its vectors and words. */
export interface DistilSearch {
  /** Returns those of the memories that the model in use has embedded. */
  findEmbedded(ordinals: readonly number[]): Promise<ReadonlySet<number>>;
  ofOwner(owner: Owner): Promise<OwnerSearch>;
}

/** See `Storage.distilCandidates`. Must run in a snapshot. */
export async function distilCandidates(
  queries: Queries,
  search: DistilSearch,
  request: DistilCandidatesRequest,
): Promise<DistilCandidates> {
  const { ready, next } = await readReady(queries, search, request);
  const neighbors = new Map<number, DistilNeighbor[]>();
  for (const [owner, owned] of groupByOwner(ready.filter(({ isFit }) => isFit))) {
    const ordinals = owned.map(({ ordinal }) => ordinal);
    const ofOwner = { queries, search: await search.ofOwner(owner), request, owner };
    for (const [ordinal, near] of await findNeighbors(ofOwner, ordinals)) neighbors.set(ordinal, near);
  }
  const candidates = ready.map(({ ordinal, version, userId, agentId, ...member }): DistilCandidate => {
    return { ordinal, version, userId, agentId, ...getGroup(member), neighbors: neighbors.get(ordinal) ?? [] };
  });
  return { candidates, ...(next !== undefined && { next }) };
}

interface Membership {
  semantic: number | null;
  sourceCount: number;
}

/** A queued memory. */
interface Waiting extends Membership, Owner {
  ordinal: number;
  version: number;
  isPromoted: boolean | number;
  /** Whether the memory can be distilled once it is promoted and embedded. */
  isFit: boolean | number;
}

/** Condition on `memory m`: can be distilled. */
const FIT = raw(`m.tier <> 'semantic' AND ${DISTILLABLE}`);

/** The semantic memory of `memory m`, and the number of its sources. */
const MEMBERSHIP = raw(`
  (SELECT l.semantic FROM memory_source l WHERE l.namespace = m.namespace AND l.source = m.ordinal) AS semantic,
  (SELECT count(*) FROM memory_source l JOIN memory_source o ON o.namespace = l.namespace AND o.semantic = l.semantic
   WHERE l.namespace = m.namespace AND l.source = m.ordinal) AS "sourceCount"`);

function getGroup({ semantic, sourceCount }: Membership): Pick<DistilNeighbor, 'group'> {
  return semantic === null ? {} : { group: { semantic, sourceCount } };
}

/** Pages of the queue have twice as many memories as a call returns, since most queued memories are ready. */
const PAGE_SHARE = 2;

/**
 * Returns the next `limit` queued memories that are promoted and, if they can be distilled, embedded. Reads no more of
 * the queue than needed, and at most `DISTIL_LIMITS.waiting` memories. `next` is the last ordinal that was examined;
 * absent at the end of the queue.
 */
async function readReady(
  queries: Queries,
  search: DistilSearch,
  request: DistilCandidatesRequest,
): Promise<{ ready: Waiting[]; next?: number }> {
  const { limit } = request;
  const ready: Waiting[] = [];
  let { after = 0 } = request;
  for (let examined = 0; examined < DISTIL_LIMITS.waiting; ) {
    const pageSize = Math.min(PAGE_SHARE * limit, DISTIL_LIMITS.waiting - examined);
    const page = await readWaiting(queries, { ...request, after, limit: pageSize });
    ready.push(...(await selectReady(search, page)));
    const last = ready[limit - 1];
    if (last) return { ready: ready.slice(0, limit), next: last.ordinal };
    if (page.length < pageSize) return { ready };
    after = (page.at(-1) as Waiting).ordinal;
    examined += page.length;
  }
  return { ready, next: after };
}

/** Returns the next `limit` queued memories. */
function readWaiting(queries: Queries, request: DistilCandidatesRequest & { after: number }): Promise<Waiting[]> {
  const { namespace, after, limit } = request;
  const memory = queries.dialect.joinMemory('m', { namespace: sql`${namespace}`, ordinal: raw('waiting.ordinal') });
  return queries.rows<Waiting>(sql`
    SELECT m.ordinal, m.user_id AS "userId", m.agent_id AS "agentId", m.version, ${isPromoted(request)} AS "isPromoted",
      (${FIT}) AS "isFit", ${MEMBERSHIP}
    FROM (SELECT ordinal FROM distil_candidate WHERE namespace = ${namespace} AND ordinal > ${after}
      ORDER BY ordinal LIMIT ${limit}) AS waiting ${memory}
    ORDER BY waiting.ordinal`);
}

async function selectReady(search: DistilSearch, page: readonly Waiting[]): Promise<Waiting[]> {
  const promoted = page.filter(({ isPromoted }) => isPromoted);
  const fit = promoted.filter(({ isFit }) => isFit).map(({ ordinal }) => ordinal);
  const embedded = fit.length === 0 ? new Set<number>() : await search.findEmbedded(fit);
  return promoted.filter(({ isFit, ordinal }) => !isFit || embedded.has(ordinal));
}

interface OfOwner {
  queries: Queries;
  search: OwnerSearch;
  request: DistilCandidatesRequest;
  owner: Owner;
}

/**
 * Returns the scale of cosines between memories. Memories of one owner may be in several scripts; with most models, those
 * in Latin script have the lowest cosines, so that no script finds fewer groups.
 */
function getScale(model: ModelInUse | undefined): CosineScale | undefined {
  return getCosineScales(model)?.latin;
}

/**
 * See `getBackground` of distil/.
 *
 * @param getCosine returns the cosine of the sampled texts with two different indexes
 * @param model the model of the cosines
 */
export function getBackgroundCosine(
  count: number,
  getCosine: (one: number, other: number) => number,
  model: ModelInUse | undefined,
): number {
  const scale = getScale(model);
  return getBackground(count, (one, other) => toUsualCosine(getCosine(one, other), scale));
}

/** Returns the nearest memories with which each candidate can be distilled. */
async function findNeighbors(context: OfOwner, candidates: readonly number[]): Promise<Map<number, DistilNeighbor[]>> {
  const found = await context.search.findNearest(candidates);
  const members = await readMembers(context, [...new Set(found.map(({ ordinal }) => ordinal))]);
  const near = found.filter(({ ordinal }) => members.has(ordinal));
  const rare = await findRareWords(context, candidates, [...members.keys()]);
  const scale = getScale(await modelInUse(context.queries));
  const neighbors = new Map<number, DistilNeighbor[]>(candidates.map((ordinal) => [ordinal, []]));
  for (const { candidate, ordinal, cosine } of near) {
    const sharedRareWords = rare.get(candidate)?.filter((holders) => holders.has(ordinal)).length ?? 0;
    const group = getGroup(members.get(ordinal) as Membership);
    neighbors.get(candidate)?.push({ ordinal, cosine: toUsualCosine(cosine, scale), sharedRareWords, ...group });
  }
  return neighbors;
}

/** Returns the memories of the owner that can be distilled, by ordinal. */
async function readMembers(
  { queries, request, owner }: OfOwner,
  ordinals: readonly number[],
): Promise<Map<number, Membership>> {
  const { dialect } = queries;
  const memory = dialect.joinMemory('m', { namespace: sql`${request.namespace}`, ordinal: raw('asked.ordinal') });
  const rows = await queries.rows<Membership & { ordinal: number }>(sql`
    SELECT m.ordinal, ${MEMBERSHIP} FROM ${dialect.ordinals('asked', ordinals)} ${memory}
    WHERE ${FIT} AND ${isPromoted(request)} AND m.user_id = ${owner.userId} AND m.agent_id = ${owner.agentId}`);
  return new Map(rows.map((row) => [row.ordinal, row]));
}

/** Returns the holders of each distinctive word of each candidate that is rare among the memories of the owner. */
async function findRareWords(
  { queries, search, request: { namespace } }: OfOwner,
  candidates: readonly number[],
  examined: readonly number[],
): Promise<Map<number, ReadonlySet<number>[]>> {
  const memory = queries.dialect.joinMemory('m', { namespace: sql`${namespace}`, ordinal: raw('asked.ordinal') });
  const texts = await queries.rows<{ ordinal: number; text: string; sessionId: string | null }>(sql`
    SELECT m.ordinal, substr(m.content, 1, ${DISTIL_LIMITS.chars}) AS text, m.session_id AS "sessionId"
    FROM ${queries.dialect.ordinals('asked', candidates)} ${memory}`);
  const words = texts.flatMap(({ ordinal, text, sessionId }) =>
    getDistinctiveWords(text, sessionId).map((forms) => ({
      ordinal,
      terms: forms.map((form) => termDigest(namespace, form)),
    })),
  );
  const terms = words.map((word) => word.terms);
  const holders = await search.findRareHolders(terms, examined, getMaxRareWordFrequency);
  const rare = new Map<number, ReadonlySet<number>[]>();
  words.forEach(({ ordinal }, i) => {
    if (holders[i]) rare.set(ordinal, [...(rare.get(ordinal) ?? []), holders[i]]);
  });
  return rare;
}
