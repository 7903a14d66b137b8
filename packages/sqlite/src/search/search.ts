import {
  fromMemory,
  liveAndPassing,
  type ReadRequest,
  raw,
  readResults,
  resultColumns,
  type Sql,
  selectChanged,
  sql,
  toMoment,
} from '@memoryd/core';
import {
  AGENT_LABEL,
  belongsTo,
  combineMatches,
  type Digest,
  type IndexQuery,
  type IndexQueryWords,
  type Int8Vector,
  labelDigest,
  MAX_PER_TEXT,
  type MemoryFilter,
  NO_ROW,
  namespaceDigest,
  type OwnerFilter,
  type RankedSearchRequest,
  type RecalledMemory,
  type RecallIndex,
  type RequiredAttribute,
  rankFound,
  type Scope,
  SESSION_LABEL,
  type SearchRequest,
  type SearchResults,
  type SelectedWords,
  type Signals,
  SOURCE_LABEL,
  selectQueryWords,
  splitFilter,
  toInt8,
  USER_LABEL,
  type WordCounter,
} from '@memoryd/search';
import type { Connection } from '../connection.ts';
import { readRows, SQLITE } from '../dialect.ts';
import { createFieldReader } from './field-reader.ts';
import { collectSignals, exactCosines } from './signals.ts';

/**
 * Number of best rows by vector, and by words, whose exact cosines are computed. The best 32 rows by approximate cosine
 * usually contain the ten nearest rows, and the best 8 rows by words usually contain the best word results.
 */
const MEASURED = { byMeaning: 32, byWords: 8 };

/** Maximum memories of the users of a search for which `MEASURED_OF_FEW` replaces `MEASURED`. */
const FEW_MEMORIES = 400;
/**
 * Numbers of rows as in `MEASURED`, for users with few memories. The vectors of such users are rarely in the page cache
 * and must be read from the file. With 169 to 680 memories, recall was as good as with `MEASURED`
 * (docs/decisions/0028-users.md).
 */
const MEASURED_OF_FEW = { byMeaning: 10, byWords: 2 };

/** See `Storage.search`. Must run in a transaction, with the index updated to its snapshot. */
export async function search(connection: Connection, index: RecallIndex, request: SearchRequest): Promise<Signals> {
  const { namespace, poolSize, tailSize } = request;
  const beganAt = performance.now();
  const { indexQuery, selected, words } = await beginQuery(connection, index, request);
  const rowsByWords = words.best(selected.shares, {
    count: poolSize + tailSize,
    maxOfText: MAX_PER_TEXT,
    dated: selected.dateMatches,
  });
  const startedAt = performance.now();
  const byMeaning = nearest(connection, index, indexQuery, request, rowsByWords);
  // The tail has a search of its own, so that the size of the tail does not change the pool.
  const tail =
    byMeaning.vector && tailSize > 0
      ? indexQuery.nearest(byMeaning.vector, { count: poolSize + tailSize, maxOfText: MAX_PER_TEXT })
      : [];
  const vectorsAt = performance.now();
  const signals = collectSignals(
    {
      connection,
      index,
      indexQuery,
      words,
      selected,
      namespace,
      moment: toMoment(request),
      vector: byMeaning.vector,
      states: byMeaning.vector && request.vector?.states,
      measured: byMeaning.measured,
    },
    combineMatches(
      rowsByWords,
      byMeaning.rows,
      tail.map(({ row }) => row),
      poolSize,
    ),
  );
  return {
    ...signals,
    stagesMs: { words: startedAt - beganAt, vectors: vectorsAt - startedAt, fuse: performance.now() - vectorsAt },
  };
}

/** Rows by vector, nearest first, and the exact cosines that were computed, by row. */
interface Nearest {
  vector: Int8Vector | undefined;
  rows: number[];
  measured: ReadonlyMap<number, number>;
}

/** Returns the rows with the nearest vectors, nearest first. Among equal cosines, the newest row is first. */
function nearest(
  connection: Connection,
  index: RecallIndex,
  indexQuery: IndexQuery,
  { vector, poolSize }: SearchRequest,
  byWords: readonly number[],
): Nearest {
  if (!vector || !isOfModel(index, vector)) return { vector: undefined, rows: [], measured: new Map() };
  const quantised = toInt8(vector.values);
  const near = indexQuery.nearest(quantised, { count: poolSize, maxOfText: MAX_PER_TEXT });
  const { userRowCount = Number.POSITIVE_INFINITY } = indexQuery;
  const count = userRowCount <= FEW_MEMORIES ? MEASURED_OF_FEW : MEASURED;
  const first = near.slice(0, count.byMeaning).map(({ row }) => row);
  const measured = exactCosines(connection, index, [...first, ...byWords.slice(0, count.byWords)], vector.values);
  const rows = near.map(({ row, cosine }) => ({ row, cosine: measured.get(row) ?? cosine }));
  rows.sort((a, b) => b.cosine - a.cosine || index.ordinal(b.row) - index.ordinal(a.row));
  return { vector: quantised, rows: rows.map(({ row }) => row), measured };
}

// Returns true if the model of the index computed the vector.
function isOfModel({ model }: RecallIndex, vector: NonNullable<SearchRequest['vector']>): boolean {
  return model?.modelId === vector.modelId && model.dimensions === vector.values.length;
}

/** See `Storage.searchAndRank` and `search`. Must run in a transaction, with the index updated to its snapshot. */
export async function searchAndRank(
  connection: Connection,
  index: RecallIndex,
  request: RankedSearchRequest,
): Promise<SearchResults> {
  const { namespace, maxBytes, filter, now } = request;
  const { ordinals, toSearchResults } = rankFound(await search(connection, index, request), request);
  const reading = { filter, now, limit: request.ranking.limit };
  return toSearchResults(readContents(connection, namespace, ordinals, reading, maxBytes));
}

type ResultRow = Parameters<typeof readResults>[0] extends Iterable<infer Row> ? Row : never;

/** See `Storage.read`. */
export function readContents(
  connection: Connection,
  namespace: string,
  ordinals: readonly number[],
  { now, filter = {}, limit = ordinals.length }: ReadRequest,
  maxBytes: number,
): { memories: RecalledMemory[]; truncated: boolean } {
  const moment = toMoment({ filter, now });
  const isKnownEarlier = moment.known !== undefined;
  const passing = liveAndPassing(SQLITE, namespace, isKnownEarlier ? filter : {}, now);
  const columns = resultColumns(SQLITE, moment);
  const unlinkedColumns = resultColumns(SQLITE, moment, raw('NULL'));
  return readResults(rows(), maxBytes);

  function* rows(): Iterable<ResultRow> {
    let left = limit;
    for (const row of isKnownEarlier ? readKnown() : readPresent()) {
      // The filter is checked again, because the index stores users and agents as digests, which can collide.
      if (!belongsTo({ userId: row.user_id, agentId: row.agent_id }, filter)) continue;
      if (left === 0) return;
      left -= 1;
      yield row;
    }
  }

  // Reads a memory with links by a second statement, because a statement with `getSupersededBy` takes five times as
  // long, and most memories have no links. A simple statement for each memory is faster than one with `json_each`.
  function* readPresent(): Iterable<ResultRow> {
    for (const ordinal of ordinals) {
      for (const row of readRows<ResultRow & { isLinked: number }>(
        connection,
        selectPresent(ordinal, unlinkedColumns),
      )) {
        if (row.isLinked) yield* readRows<ResultRow>(connection, selectPresent(ordinal, columns));
        else yield row;
      }
    }
  }

  // Reads several memories at once, because a statement over earlier fields takes long to begin.
  function* readKnown(): Iterable<ResultRow> {
    for (let from = 0; from < ordinals.length; from += KNOWN_AT_ONCE) {
      const named = SQLITE.ordinals('named', ordinals.slice(from, from + KNOWN_AT_ONCE));
      yield* readRows<ResultRow>(connection, selectKnown(named));
    }
  }

  function selectPresent(ordinal: number, selected: Sql): Sql {
    return sql`
      SELECT ${selected}, NULL AS survivor, EXISTS (SELECT 1 FROM succession l WHERE l.ordinal = m.ordinal) AS "isLinked"
      FROM memory m WHERE m.ordinal = ${ordinal} AND ${passing}`;
  }

  function selectKnown(named: Sql): Sql {
    return sql`
      WITH found (ordinal, survivor, place) AS MATERIALIZED (
        SELECT named.ordinal, NULL, named.place FROM ${named}
        UNION ALL
        SELECT d.ordinal, s.ordinal, named.place FROM ${named} CROSS JOIN memory s CROSS JOIN memory d INDEXED BY memory_merged
        WHERE s.ordinal = named.ordinal AND d.namespace = s.namespace AND d.merged_into = s.id)
      SELECT ${columns}, found.survivor FROM found CROSS JOIN ${fromMemory(SQLITE, moment)}
      WHERE m.ordinal = found.ordinal AND ${passing}
      ORDER BY found.place, found.survivor IS NOT NULL, m.created_at, m.ordinal`;
  }
}

/** Memories whose earlier fields one statement reads. */
const KNOWN_AT_ONCE = 16;

/** A query on the index, and the words that it searches. */
interface WordQuery {
  indexQuery: IndexQuery;
  selected: SelectedWords;
  /** The words of `selected`, looked up in the index. */
  words: IndexQueryWords;
}

/** Begins a query. The index supports one query at a time, so the caller must read its results before the next query. */
async function beginQuery(connection: Connection, index: RecallIndex, request: SearchRequest): Promise<WordQuery> {
  const { namespace, filter, now } = request;
  const { required, others } = splitFilter(filter);
  const indexQuery = index.beginQuery({
    namespace: namespaceDigest(namespace),
    now,
    ...ownerLabels(namespace, filter),
    labels: getLabels(namespace, filter, required),
    filter,
    known: toMoment(request).known,
    rows: others.condition && index.columns.match(others.condition, createFieldReader(connection)),
  });
  applyMoment(connection, index, indexQuery, request);
  let words = indexQuery.words([]);
  const counter: WordCounter = {
    memoryCount: indexQuery.memoryCount,
    count(searched) {
      words = indexQuery.words(searched.words);
      return { words: words.documentFrequencies, synonyms: indexQuery.countDocuments(searched.synonyms) };
    },
    countAll: (all) => indexQuery.countDocuments(all),
  };
  const selected = await selectQueryWords(counter, request);
  // Words that were counted are not looked up again.
  if (words.terms !== selected.words) words = indexQuery.words(selected.words);
  return { indexQuery, selected, words };
}

/** Excludes and includes memories of which the index cannot tell whether they meet the filter. */
function applyMoment(connection: Connection, index: RecallIndex, indexQuery: IndexQuery, request: SearchRequest): void {
  const { filter } = request;
  const { known } = toMoment(request);
  const varying = filter.holding || filter.superseded === false ? [...index.varying] : [];
  if (known === undefined) excludeVarying(connection, index, indexQuery, request, varying);
  else applyKnown(connection, index, indexQuery, request, varying, known);
}

/** Decides by their earlier fields which memories are in scope that have changed since the time `known`. */
function applyKnown(
  connection: Connection,
  index: RecallIndex,
  indexQuery: IndexQuery,
  { namespace, filter, now }: SearchRequest,
  varying: readonly number[],
  known: number,
): void {
  const changed = new Set(varying.filter((ordinal) => indexQuery.isAllowed(index.getRow(ordinal))));
  for (const { ordinal } of readRows<Found>(connection, selectChanged(SQLITE, namespace, filter, known)))
    changed.add(ordinal);
  const found = readRows<Found>(
    connection,
    sql`SELECT m.ordinal FROM ${SQLITE.ordinals('named', [...changed])} CROSS JOIN ${fromMemory(SQLITE, { known })}
      WHERE m.ordinal = named.ordinal AND ${liveAndPassing(SQLITE, namespace, filter, now)}`,
  );
  const passing = new Set(found.map(({ ordinal }) => ordinal));
  const merged: number[] = [];
  for (const ordinal of changed) {
    const row = index.getRow(ordinal);
    if (row !== NO_ROW && passing.has(ordinal)) indexQuery.include(row);
    else if (row !== NO_ROW) indexQuery.exclude(row);
    else if (passing.has(ordinal)) merged.push(ordinal);
  }
  // A duplicate has no row in the index, and is found by the row of the memory that it was merged into.
  const survivors = readRows<Found>(
    connection,
    sql`SELECT s.ordinal FROM ${SQLITE.ordinals('named', merged)} CROSS JOIN memory d CROSS JOIN memory s
      WHERE d.ordinal = named.ordinal AND s.namespace = d.namespace AND s.id = d.merged_into`,
  );
  for (const { ordinal } of survivors) {
    const row = index.getRow(ordinal);
    if (row !== NO_ROW) indexQuery.include(row);
  }
}

interface Found {
  ordinal: number;
}

/** Excludes those of the memories that do not meet the filter. */
function excludeVarying(
  connection: Connection,
  index: RecallIndex,
  indexQuery: IndexQuery,
  { namespace, filter, now }: SearchRequest,
  varying: readonly number[],
): void {
  if (varying.length === 0) return;
  const { at, holding, superseded } = filter;
  const validity = {
    ...(at !== undefined && { at }),
    ...(holding && { holding }),
    ...(superseded === false && { superseded }),
  };
  const passing = liveAndPassing(SQLITE, namespace, validity, now);
  for (const ordinal of varying) {
    const row = index.getRow(ordinal);
    if (!indexQuery.isAllowed(row)) continue;
    const passes = readRows(connection, sql`SELECT 1 FROM memory m WHERE m.ordinal = ${ordinal} AND ${passing}`);
    if (passes.length === 0) indexQuery.exclude(row);
  }
}

/** Returns the labels of the users and agents of an owner filter. */
export function ownerLabels(namespace: string, { userIds, agentIds }: OwnerFilter): Pick<Scope, 'users' | 'agents'> {
  return {
    users: userIds?.map((id) => labelDigest(namespace, USER_LABEL, id)),
    agents: agentIds?.map((id) => labelDigest(namespace, AGENT_LABEL, id)),
  };
}

function getLabels(
  namespace: string,
  { sessionId, source }: MemoryFilter,
  required: readonly RequiredAttribute[],
): Digest[][] {
  const labels = [...required];
  if (sessionId !== undefined) labels.push([SESSION_LABEL, [sessionId]]);
  if (source !== undefined) labels.push([SOURCE_LABEL, [source]]);
  return labels.map(([name, values]) => values.map((value) => labelDigest(namespace, name, value)));
}
