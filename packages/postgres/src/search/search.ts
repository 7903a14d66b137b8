import {
  BEFORE_THE_LAST,
  DISTIL_LIMITS,
  joinKnown,
  liveAndPassing,
  type Queries,
  type ReadRequest,
  raw,
  readResults,
  resultColumns,
  type Storage,
  sql,
  toMoment,
} from '@memoryd/core';
import { combineMatches, type RecalledMemory, rankFound, type SearchRequest, type Signals } from '@memoryd/search';
import type { Connection } from '../connection.ts';
import { memoriesBy } from '../dialect.ts';
import type { Replica } from '../replica.ts';
import { findBestByWords } from './best-by-words.ts';
import { backgroundCosine, distilCandidates } from './distil-candidates.ts';
import { findDiverse } from './diversity.ts';
import { findNearest, getSearchSettings, type QueryVector, toQueryVector } from './nearest.ts';
import { getScope } from './scope.ts';
import { collectSignals } from './signals.ts';
import { MAX_DIMENSIONS } from './vector-index.ts';
import { getQueryWords } from './words.ts';

/** See `Storage.search`. Must run in a snapshot. */
async function search(queries: Queries, request: SearchRequest): Promise<Signals> {
  const { poolSize, tailSize } = request;
  const candidateCount = poolSize + tailSize;
  const startedAt = performance.now();
  const scope = await getScope(queries, request);
  const queryWords = await getQueryWords(queries, scope, request);
  const byWords = await findDiverse(queries, scope, candidateCount, (searched) =>
    findBestByWords(queries, searched, queryWords, candidateCount),
  );
  const wordsAt = performance.now();
  const vector = toQueryVector(scope, request.vector);
  const getNearest = (vector: QueryVector, count: number) =>
    findDiverse(queries, scope, count, (searched) => findNearest(queries, searched, vector, count));
  const byMeaning = vector ? await getNearest(vector, poolSize) : [];
  // A separate search, so that the number of results does not change the pool.
  const tailByMeaning = vector && tailSize > 0 ? await getNearest(vector, candidateCount) : [];
  const vectorsAt = performance.now();
  const found = combineMatches(byWords, byMeaning, tailByMeaning, poolSize);
  const signals = await collectSignals(queries, { scope, moment: toMoment(request), queryWords, vector }, found);
  return {
    ...signals,
    stagesMs: { words: wordsAt - startedAt, vectors: vectorsAt - wordsAt, fuse: performance.now() - vectorsAt },
  };
}

/**
 * Distillation candidates per call. Most of the time of a candidate is the round trip, so a call reads several. A call
 * blocks only its own connection.
 */
const CANDIDATES_PER_CALL = 16;

/**
 * Creates the methods of `Storage` for recall and distillation. With a replica, recall searches the replica, except for
 * requests with `isUpToDate`, and reads texts from the primary, so that recall never returns a forgotten memory.
 */
export function createSearchMethods(
  connection: Connection,
  replica?: Replica,
): Pick<
  Storage,
  'maxDimensions' | 'candidatesAtOnce' | 'search' | 'searchAndRank' | 'read' | 'distilCandidates' | 'backgroundCosine'
> {
  const find = (request: SearchRequest) => {
    const settings = getSearchSettings(request.poolSize);
    const searchOn = (target: Connection) => target.snapshot((queries) => search(queries, request), settings);
    return replica && !request.isUpToDate ? replica.read(request.namespace, searchOn) : searchOn(connection);
  };
  const distil = <T>(read: (queries: Queries) => Promise<T>) =>
    connection.snapshot(read, getSearchSettings(DISTIL_LIMITS.nearest));
  return {
    maxDimensions: MAX_DIMENSIONS,
    candidatesAtOnce: CANDIDATES_PER_CALL,
    search: find,
    async searchAndRank(request) {
      const { namespace, maxBytes, filter, now } = request;
      // Await the vector before `find`, so that no connection is held while the model runs.
      const { ordinals, toSearchResults } = rankFound(
        await find({ ...request, vector: await request.vector }),
        request,
      );
      const reading = { filter, now, limit: request.ranking.limit };
      return toSearchResults(await readContents(connection, namespace, ordinals, reading, maxBytes));
    },
    read: (...args) => readContents(connection, ...args),
    distilCandidates: (request) => distil((queries) => distilCandidates(queries, request)),
    backgroundCosine: (request) => distil((queries) => backgroundCosine(queries, request)),
  };
}

type ResultRow = Parameters<typeof readResults>[0] extends Iterable<infer Row> ? Row : never;

/** See `Storage.read`. */
export async function readContents(
  queries: Queries,
  namespace: string,
  ordinals: readonly number[],
  { filter = {}, now, limit = ordinals.length }: ReadRequest,
  maxBytes: number,
): Promise<{ memories: RecalledMemory[]; truncated: boolean }> {
  const { dialect } = queries;
  const moment = toMoment({ filter, now });
  const isKnownEarlier = moment.known !== undefined;
  const found = sql`unnest(${ordinals}::bigint[]) WITH ORDINALITY AS found(ordinal, place)`;
  const asked = isKnownEarlier
    ? sql`(
        SELECT ordinal, place, NULL::bigint AS survivor FROM ${found}
        UNION ALL
        SELECT d.ordinal, found.place, found.ordinal FROM ${found}
        CROSS JOIN ${memoriesBy('s', sql`namespace = ${namespace} AND ordinal = found.ordinal`)}
        CROSS JOIN ${memoriesBy('d', sql`namespace = s.namespace AND merged_into = s.id`)})`
    : sql`(SELECT ordinal, place, NULL::bigint AS survivor FROM ${found})`;
  const join = (table: string) =>
    joinKnown(dialect, moment, 'm', { namespace: sql`${namespace}`, ordinal: raw(`${table}.ordinal`) });
  const rows = await queries.rows<ResultRow>(sql`
    WITH asked AS (
        SELECT m.ordinal, asked.survivor, octet_length(m.content) AS bytes,
          row_number() OVER (ORDER BY asked.place, asked.survivor NULLS FIRST, m.created_at, m.ordinal) AS place
        FROM ${asked} AS asked ${join('asked')}
        WHERE ${liveAndPassing(dialect, namespace, isKnownEarlier ? filter : {}, now)}
        ORDER BY place LIMIT ${limit}),
      sized AS (SELECT *, sum(bytes) OVER (ORDER BY place ${BEFORE_THE_LAST}) AS before FROM asked)
    SELECT ${resultColumns(dialect, moment)}, sized.survivor
    FROM sized ${join('sized')}
    WHERE coalesce(sized.before, 0) <= ${maxBytes} ORDER BY sized.place`);
  return readResults(rows, maxBytes);
}
