import { NO_ROW, NO_SESSION, type Signals } from '../../../ports/storage-search.ts';
import type { Int8Vector } from '../../../recall-index/int8.ts';
import type { RecallIndex } from '../../../recall-index/recall-index.ts';
import { type Found, type Gathered, gather, type Surroundings } from '../../gather.ts';
import { IN_TIER } from '../../sql/filters.ts';
import { type Connection, sql } from '../connection.ts';
import { retentions } from './retentions.ts';
import { texts } from './texts.ts';
import type { FoundByWords } from './words.ts';

/** What has been asked, and what the index says of it as a whole. */
export interface SearchContext extends Omit<FoundByWords, 'rows' | 'tookMs'> {
  connection: Connection;
  index: RecallIndex;
  now: number;
  vector: Int8Vector | undefined;
  /** Cosines that were measured exactly, by row. */
  measured: ReadonlyMap<number, number>;
  /** The index's number of the session of what was given none; 0 where nothing in it names who speaks. */
  noSession: number;
}

/** Gathers the columns of all that was found, of what corrects it, and of its neighbours. */
export function collectSignals(context: SearchContext, found: Found): Omit<Signals, 'stagesMs'> {
  const { index } = context;
  const { rows, placesOf, ...gathered } = gather(surroundings(context), found);
  index.select(rows);
  const described = index.describe();
  const frequencies = index.frequencies();
  return {
    ...gathered,
    memoryCount: context.memoryCount,
    documentFrequencies: context.documentFrequencies,
    ordinals: described.ordinals,
    createdAts: described.createdAts,
    lengths: described.lengths,
    frequencies,
    ...synonymColumns(context),
    texts: texts(context.connection, described, gathered.admitted),
    cosines: cosines(context, rows, placesOf),
    retentions: retentions(context.connection, described, gathered.admitted, context.now),
    sessions: described.sessions.map((session) => (session === context.noSession ? NO_SESSION : session - 1)),
    previous: placesOf(described.previous),
    next: placesOf(described.next),
    speakers: described.speakers,
    marks: described.marks,
    speaks: speaks(context, rows),
    persons: context.persons,
    dated: context.dated,
  };
}

function surroundings(context: SearchContext): Surroundings {
  const { index } = context;
  return {
    isAllowed: (row) => index.isAllowed(row),
    previous: (row) => index.previous(row),
    next: (row) => index.next(row),
    successor: (row) => successorOf(context, row),
    sources: (row) => sourcesOf(context, row),
    relevant: (rows) => relevant(context, rows),
  };
}

/** The row of the memory that corrects one, where it is in recall. */
function successorOf({ connection, index }: SearchContext, row: number): number {
  if (!index.isSuperseded(row)) return NO_ROW;
  const ordinal = sql(
    connection,
    `SELECT m.ordinal FROM memory o JOIN memory m ON m.namespace = o.namespace AND m.id = o.superseded_by
     WHERE o.ordinal = ? AND ${IN_TIER}`,
  )
    .pluck()
    .get(index.ordinal(row)) as number | undefined;
  return ordinal === undefined ? NO_ROW : index.rowOf(ordinal);
}

const NO_SOURCES: readonly number[] = [];

/** The rows of what a memory was distilled from, where they are in recall. */
function sourcesOf({ connection, index }: SearchContext, row: number): readonly number[] {
  if (!index.isSemantic(row)) return NO_SOURCES;
  const ordinals = sql(connection, 'SELECT source FROM memory_source WHERE semantic = ? ORDER BY source')
    .pluck()
    .all(index.ordinal(row)) as number[];
  return ordinals.map((ordinal) => index.rowOf(ordinal)).filter((source) => source !== NO_ROW);
}

function relevant({ index, vector, documentFrequencies }: SearchContext, rows: readonly number[]): number[] {
  index.select(rows);
  const frequencies = index.frequencies();
  const meanings = vector && index.cosines(vector);
  const words = documentFrequencies.length;
  const sharesWord = (place: number) => {
    for (let at = place * words; at < (place + 1) * words; at += 1) if ((frequencies[at] as number) > 0) return true;
    return false;
  };
  return rows.filter((_, place) => (meanings?.[place] as number) > 0 || sharesWord(place));
}

/** Cosines as near as the index in memory tells, but exact where they were measured. */
function cosines(
  { index, vector, measured }: SearchContext,
  rows: readonly number[],
  placesOf: Gathered['placesOf'],
): Float32Array {
  if (!vector) return new Float32Array(rows.length).fill(Number.NaN);
  const cosines = index.cosines(vector);
  const places = placesOf([...measured.keys()]);
  [...measured.values()].forEach((cosine, i) => {
    if (places[i] !== NO_ROW) cosines[places[i] as number] = cosine;
  });
  return cosines;
}

// After the words, for which the index then takes the synonyms.
function synonymColumns({ index, synonyms }: SearchContext) {
  index.words(synonyms.map(({ digest }) => [digest]));
  return {
    synonyms: synonyms.map(({ word, weight }) => ({ word, weight })),
    synonymFrequencies: index.frequencies(),
  };
}

// Likewise.
function speaks({ index, speakers }: SearchContext, rows: readonly number[]): Uint8Array {
  const namesSomebody = index.words(speakers).some((memories) => memories > 0);
  if (!namesSomebody) return new Uint8Array(rows.length * speakers.length);
  return Uint8Array.from(index.frequencies());
}
