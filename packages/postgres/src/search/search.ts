import {
  ANSWER_COLUMNS,
  type AnswerRow,
  BEFORE_THE_LAST,
  foundBy,
  getBackground,
  IN_TIER,
  liveAndPassing,
  NEAREST,
  type Queries,
  type RecalledMemory,
  rankFound,
  raw,
  type SearchRequest,
  type Signals,
  type Storage,
  sampledTimes,
  sql,
  takeAnswered,
  wordShares,
} from '@memoryd/engine/storage-kit';
import type { Connection } from '../connection.ts';
import { isCorrectionExpired, memoriesBy } from '../dialect.ts';
import type { Replica } from '../replica.ts';
import { bestByWords } from './best-by-words.ts';
import { findWithoutCrowds } from './crowds.ts';
import { distilCandidates } from './distil-candidates.ts';
import { nearest, type QueryVector, queryVector, searchSettings } from './nearest.ts';
import { getScope } from './scope.ts';
import { collectSignals } from './signals.ts';
import { MAX_DIMENSIONS } from './vector-index.ts';
import { askWords } from './words.ts';

/** See `Storage.search`. To be asked in a snapshot. */
async function search(queries: Queries, request: SearchRequest): Promise<Signals> {
  const { now, poolSize, tailSize } = request;
  const admitted = poolSize + tailSize;
  const startedAt = performance.now();
  const scope = await getScope(queries, request);
  const asked = await askWords(queries, scope, request);
  const { memoryCount } = scope;
  const { everyday } = asked.kinds;
  const shares = wordShares({ memoryCount, documentFrequencies: asked.frequencies, everyday });
  const matched = { ...asked, shares, date: request.date };
  const byWords = await findWithoutCrowds(queries, scope, admitted, (among) =>
    bestByWords(queries, among, matched, admitted),
  );
  const wordsAt = performance.now();
  const vector = queryVector(scope, request.vector);
  const getNearest = (vector: QueryVector, count: number) =>
    findWithoutCrowds(queries, scope, count, (among) => nearest(queries, among, vector, count));
  const byMeaning = vector ? await getNearest(vector, poolSize) : [];
  // Looked for apart, so that a longer answer changes nothing of the pool.
  const tailByMeaning = vector && tailSize > 0 ? await getNearest(vector, admitted) : [];
  const vectorsAt = performance.now();
  const found = foundBy(byWords, byMeaning, tailByMeaning, poolSize);
  const signals = await collectSignals(queries, { scope, now, asked, vector }, found);
  return {
    ...signals,
    stagesMs: { words: wordsAt - startedAt, vectors: vectorsAt - wordsAt, fuse: performance.now() - vectorsAt },
  };
}

/** It holds up nobody but a connection, and most of what one candidate takes is asking. */
const CANDIDATES_AT_ONCE = 16;

/**
 * What recall and distilling look for. Where there is a replica, recall finds memories by it and reads their texts from the
 * database itself, so that it gives out none that was forgotten.
 */
export function searchVerbs(
  connection: Connection,
  replica?: Replica,
): Pick<
  Storage,
  'mostDimensions' | 'candidatesAtOnce' | 'search' | 'answer' | 'read' | 'distilCandidates' | 'backgroundCosine'
> {
  const find = (request: SearchRequest) => {
    const settings = searchSettings(request.poolSize);
    const ask = (of: Connection) => of.snapshot((queries) => search(queries, request), settings);
    return replica && !request.isUpToDate ? replica.ask(request.namespace, ask) : ask(connection);
  };
  const distil = <T>(read: (queries: Queries) => Promise<T>) => connection.snapshot(read, searchSettings(NEAREST));
  return {
    mostDimensions: MAX_DIMENSIONS,
    candidatesAtOnce: CANDIDATES_AT_ONCE,
    search: find,
    async answer(request) {
      const { namespace, now, maxBytes } = request;
      // No connection is held by those that wait for the model.
      const { ordinals, toAnswer } = rankFound(await find({ ...request, vector: await request.vector }), request);
      return toAnswer(await readContents(connection, namespace, ordinals, now, maxBytes));
    },
    read: (...args) => readContents(connection, ...args),
    distilCandidates: (request) => distil((queries) => distilCandidates(queries, request)),
    backgroundCosine: (namespace) => distil((queries) => backgroundCosine(queries, namespace)),
  };
}

/** See `Storage.read`. */
export async function readContents(
  queries: Queries,
  namespace: string,
  ordinals: readonly number[],
  now: number,
  maxBytes: number,
): Promise<{ memories: RecalledMemory[]; truncated: boolean }> {
  const rows = await queries.rows<AnswerRow>(sql`
    WITH asked AS (
        SELECT m.ordinal, asked.place, octet_length(m.content) AS bytes
        FROM unnest(${ordinals}::bigint[]) WITH ORDINALITY AS asked(ordinal, place)
        CROSS JOIN ${memoriesBy('m', sql`namespace = ${namespace} AND ordinal = asked.ordinal`)}
        WHERE ${liveAndPassing(queries.dialect, namespace, {}, now)}),
      sized AS (SELECT *, sum(bytes) OVER (ORDER BY place ${BEFORE_THE_LAST}) AS before FROM asked)
    SELECT ${raw(ANSWER_COLUMNS)}, ${isCorrectionExpired(now)} AS is_correction_expired
    FROM sized CROSS JOIN ${memoriesBy('m', sql`namespace = ${namespace} AND ordinal = sized.ordinal`)}
    WHERE coalesce(sized.before, 0) <= ${maxBytes} ORDER BY sized.place`);
  return takeAnswered(rows, maxBytes);
}

/** See `Storage.backgroundCosine`. To be asked in a snapshot. */
async function backgroundCosine(queries: Queries, namespace: string): Promise<number> {
  const bounds = await queries.row<{ first: number | null; last: number | null }>(
    sql`SELECT min(created_at) AS first, max(created_at) AS last FROM memory WHERE namespace = ${namespace}`,
  );
  const { first = null, last = null } = bounds ?? {};
  if (first === null || last === null) return getBackground([]);
  const pairs = await queries.rows<{ cosine: number }>(sql`
    WITH sampled AS (
        SELECT DISTINCT near.created_at, near.ordinal FROM unnest(${sampledTimes(first, last)}::bigint[]) AS time
        CROSS JOIN LATERAL (
          SELECT m.created_at, m.ordinal FROM memory m
          WHERE m.namespace = ${namespace} AND m.created_at >= time AND ${raw(IN_TIER)}
          ORDER BY m.created_at, m.ordinal LIMIT 1) AS near),
      measured AS (
        SELECT v.embedding, row_number() OVER (ORDER BY s.created_at, s.ordinal) AS place, count(*) OVER () / 2 AS half
        FROM sampled s JOIN memory_vector v ON v.namespace = ${namespace} AND v.ordinal = s.ordinal AND v.part = 0
        JOIN embedding_model ON no = v.model AND in_use)
    SELECT 1 - (one.embedding <=> other.embedding) AS cosine
    FROM measured one JOIN measured other ON other.place = one.place + one.half WHERE one.place <= one.half`);
  return getBackground(pairs.map(({ cosine }) => cosine));
}
