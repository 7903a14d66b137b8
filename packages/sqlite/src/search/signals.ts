import { getReplacement, type Moment, sql as toSql } from '@memoryd/core';
import type { Description, IndexQuery, IndexQueryWords, Int8Vector, RecallIndex, SelectedWords } from '@memoryd/search';
import {
  type CandidateRows,
  collectCandidates,
  firstEqual,
  getModel,
  getRetention,
  getVectors,
  labelDigest,
  type Matches,
  NO_ROW,
  NO_SESSION,
  type RowRelations,
  type Signals,
  SPEAKER_LABEL,
  WHOLE_RETENTION,
} from '@memoryd/search';
import { type Connection, sql } from '../connection.ts';
import { readRows, SQLITE } from '../dialect.ts';
import { NO_SESSION_MARK, readEntry } from '../recall-entry.ts';

/** The data of a search that does not depend on a row. */
interface SearchContext {
  indexQuery: IndexQuery;
  selected: SelectedWords;
  connection: Connection;
  index: RecallIndex;
  namespace: string;
  words: IndexQueryWords;
  moment: Moment;
  vector: Int8Vector | undefined;
  /** Token states of the query, if the model in use computed them. */
  states: Int8Array | undefined;
  /** Exact cosines by row. */
  measured: ReadonlyMap<number, number>;
}

/** Collects the candidates of a search, and computes their signals. */
export function collectSignals(context: SearchContext, found: Matches): Omit<Signals, 'stagesMs'> {
  const { index } = context;
  const { rows, getPlaces, ...candidates } = collectCandidates(getRowRelations(context), found);
  const described = index.describe(rows);
  return {
    ...candidates,
    memoryCount: context.indexQuery.memoryCount,
    documentFrequencies: context.words.documentFrequencies,
    ordinals: described.ordinals,
    createdAts: described.createdAts,
    begins: described.begins,
    ends: described.ends,
    lengths: described.lengths,
    frequencies: context.words.frequencies(rows),
    synonyms: context.selected.synonyms.map(({ word, weight }) => ({ word, weight })),
    synonymFrequencies: context.indexQuery.words(context.selected.synonyms.map(({ term }) => [term])).frequencies(rows),
    texts: texts(context.connection, described, candidates.candidateCount),
    cosines: cosines(context, rows, getPlaces),
    nearnesses: nearnesses(context, described.ordinals.subarray(0, candidates.candidateCount)),
    retentions: retentions(context.connection, described, candidates.candidateCount, context.moment.now),
    sessions: described.sessions.map((session, row) => (hasNoSession(described, row) ? NO_SESSION : session - 1)),
    previous: getPlaces(described.previous),
    next: getPlaces(described.next),
    speakers: described.speakers,
    marks: described.marks.map((marks) => marks & ~NO_SESSION_MARK),
    speaks: speaks(context, rows),
    ...context.selected.kinds,
    now: context.moment.now,
  };
}

function hasNoSession({ marks }: Description, row: number): boolean {
  return ((marks[row] as number) & NO_SESSION_MARK) !== 0;
}

function getRowRelations(context: SearchContext): RowRelations {
  const { index } = context;
  const ended = findEnded(context);
  return {
    isAllowed: (row) => context.indexQuery.isAllowed(row),
    previous: (row) => index.previous(row),
    next: (row) => index.next(row),
    successor: (row) => getSuccessor(context, ended, row),
    sources: (row) => getSources(context, row),
    relevant: (rows) => relevant(context, rows),
  };
}

/** Returns the ordinals of the memories that had a successor at an earlier time, and lost it since. */
function findEnded({ connection, namespace, moment: { known } }: SearchContext): ReadonlySet<number> {
  if (known === undefined) return new Set();
  const ended = sql(connection, 'SELECT ordinal FROM succession WHERE namespace = ? AND unlinked_at > ?').pluck();
  return new Set(ended.all(namespace, known) as number[]);
}

/** Returns the row of the memory that replaces the memory of `row`, or `NO_ROW` if no indexed memory does. */
function getSuccessor({ connection, index, moment }: SearchContext, ended: ReadonlySet<number>, row: number): number {
  if (!index.hasSuccessor(row) && !ended.has(index.ordinal(row))) return NO_ROW;
  const [found] = readRows<{ ordinal: number | null }>(
    connection,
    toSql`SELECT ${getReplacement(SQLITE, moment)} AS ordinal FROM memory m WHERE m.ordinal = ${index.ordinal(row)}`,
  );
  const ordinal = found?.ordinal ?? undefined;
  return ordinal === undefined ? NO_ROW : index.getRow(ordinal);
}

const NO_SOURCES: readonly number[] = [];

/** Returns the rows of a semantic memory's indexed sources. */
function getSources({ connection, index }: SearchContext, row: number): readonly number[] {
  if (!index.isSemantic(row)) return NO_SOURCES;
  const ordinals = sql(connection, 'SELECT source FROM memory_source WHERE semantic = ? ORDER BY source')
    .pluck()
    .all(index.ordinal(row)) as number[];
  return ordinals.map((ordinal) => index.getRow(ordinal)).filter((source) => source !== NO_ROW);
}

function relevant({ index, vector, words }: SearchContext, rows: readonly number[]): number[] {
  const frequencies = words.frequencies(rows);
  const meanings = vector && index.cosines(vector, rows);
  const wordCount = words.documentFrequencies.length;
  const sharesWord = (place: number) => {
    for (let at = place * wordCount; at < (place + 1) * wordCount; at += 1) {
      if ((frequencies[at] as number) > 0) return true;
    }
    return false;
  };
  return rows.filter((_, place) => (meanings?.[place] as number) > 0 || sharesWord(place));
}

/**
 * Returns the exact cosine of each row where it was computed, and otherwise the approximate cosine of the index. See
 * `Signals.cosines`.
 */
function cosines(
  { connection, index, vector, measured }: SearchContext,
  rows: readonly number[],
  getPlaces: CandidateRows['getPlaces'],
): Float32Array {
  if (!vector) return new Float32Array(rows.length).fill(Number.NaN);
  const cosines = index.cosines(vector, rows);
  const places = getPlaces([...measured.keys()]);
  [...measured.values()].forEach((cosine, i) => {
    if (places[i] !== NO_ROW) cosines[places[i] as number] = cosine;
  });
  cosines.forEach((cosine, place) => {
    if (Number.isNaN(cosine) && !isEmbeddingPending(connection, index, rows[place] as number)) cosines[place] = 0;
  });
  return cosines;
}

function nearnesses({ connection, index, states }: SearchContext, ordinals: Float64Array): Float32Array {
  const nearnesses = new Float32Array(ordinals.length).fill(Number.NaN);
  if (!states || states.length === 0) return nearnesses;
  index.nearness.setQuery(states);
  const missing: number[] = [];
  for (const [place, ordinal] of ordinals.entries()) {
    const nearness = index.nearness.getScore(ordinal);
    if (nearness === undefined) missing.push(place);
    else nearnesses[place] = nearness;
  }
  if (missing.length === 0) return nearnesses;
  // A single statement takes less than half the time of one statement per row.
  const stored = sql(
    connection,
    `SELECT asked.key, s.states FROM json_each(?) AS asked
     CROSS JOIN token_states s ON s.ordinal = asked.value WHERE s.model = ?`,
  )
    .raw()
    .all(JSON.stringify(missing.map((place) => ordinals[place])), index.model?.number) as [
    key: number,
    states: Buffer,
  ][];
  for (const [key, packed] of stored) {
    const place = missing[key] as number;
    nearnesses[place] = index.nearness.addAndScore(ordinals[place] as number, packed);
  }
  return nearnesses;
}

/** Returns true if the model in use has not embedded the memory yet. */
function isEmbeddingPending(connection: Connection, index: RecallIndex, row: number): boolean {
  const entry = readEntry(connection, index.ordinal(row));
  return entry === undefined || getModel(entry) !== index.model?.number;
}

function speaks({ indexQuery, namespace, selected }: SearchContext, rows: readonly number[]): Uint8Array {
  const toLabels = (terms: readonly string[]) => terms.map((term) => labelDigest(namespace, SPEAKER_LABEL, term));
  const speakers = indexQuery.words(selected.speakers.map(toLabels));
  const namesSomebody = speakers.documentFrequencies.some((memories) => memories > 0);
  if (!namesSomebody) return new Uint8Array(rows.length * speakers.terms.length);
  return Uint8Array.from(speakers.frequencies(rows));
}

/** See `RecallIndex.exactCosines`. Reads the vectors from the file. */
export function exactCosines(
  connection: Connection,
  index: RecallIndex,
  rows: readonly number[],
  query: Float32Array,
): Map<number, number> {
  return index.exactCosines(query, rows, (row) => {
    const entry = readEntry(connection, index.ordinal(row)) as Buffer;
    return getModel(entry) === index.model?.number ? getVectors(entry) : [];
  });
}

/**
 * Returns a number for each of the first `count` rows, equal for equal texts. The index has a hash of each text, so
 * only the digests of texts with a repeated hash are read from the file.
 */
function texts(connection: Connection, { ordinals, texts }: Description, count: number): Int32Array {
  const repeated = findRepeated(texts.slice(0, count));
  const equal = new Int32Array(count);
  const places: number[] = [];
  for (let place = 0; place < count; place += 1) {
    equal[place] = place;
    if (repeated.has(texts[place] as number)) places.push(place);
  }
  if (places.length === 0) return equal;
  const getDigest = sql(connection, 'SELECT hex(text_digest) FROM memory WHERE ordinal = ?').pluck();
  const firsts = firstEqual(places.map((place) => getDigest.get(ordinals[place]) as string));
  places.forEach((place, i) => {
    equal[place] = places[firsts[i] as number] as number;
  });
  return equal;
}

/** Returns the values that occur more than once. Sorts the array in place. */
function findRepeated(values: Uint32Array): Set<number> {
  const repeated = new Set<number>();
  values.sort();
  for (let i = 1; i < values.length; i += 1) if (values[i] === values[i - 1]) repeated.add(values[i] as number);
  return repeated;
}

/** Access count and time of the last access. */
type Access = [count: number, lastAt: number];

/** Returns the retention of the first `count` rows at `now`. */
function retentions(
  connection: Connection,
  { ordinals, storedAts, importances }: Description,
  count: number,
  now: number,
): Float32Array {
  // One query per row is faster than a join with a list, and array rows are faster than objects.
  const getAccess = sql(connection, 'SELECT count, last_at FROM memory_access WHERE ordinal = ?').raw();
  const retentions = new Float32Array(count);
  for (let place = 0; place < count; place += 1) {
    const [importance, storedAt] = [importances[place] as number, storedAts[place] as number];
    const unused = getRetention({ importance, storedAt, accessCount: 0, accessedAt: null }, now);
    retentions[place] = unused;
    if (unused >= WHOLE_RETENTION) continue;
    const access = getAccess.get(ordinals[place]) as Access | undefined;
    if (!access) continue;
    const [accessCount, accessedAt] = access;
    retentions[place] = getRetention({ importance, storedAt, accessCount, accessedAt }, now);
  }
  return retentions;
}
