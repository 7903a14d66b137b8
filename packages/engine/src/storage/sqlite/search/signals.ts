import type { Signals } from '../../../ports/storage.ts';
import type { Digest } from '../../../recall-index/entry.ts';
import type { Int8Vector } from '../../../recall-index/int8.ts';
import { NO_ROW, type RecallIndex } from '../../../recall-index/recall-index.ts';
import { IN_TIER } from '../../conditions.ts';
import { type Connection, sql } from '../connection.ts';
import { retentions } from './retentions.ts';

/** What has been asked, and what the index says of it as a whole. */
export interface Question {
  connection: Connection;
  index: RecallIndex;
  now: number;
  memoryCount: number;
  documentFrequencies: number[];
  /** For each word of the query, the labels by which it names a speaker. */
  speakers: Digest[][];
  vector: Int8Vector | undefined;
  /** Cosines that were measured exactly, by row. */
  measured: ReadonlyMap<number, number>;
}

/** Rows of the index that were found. */
export interface Found {
  pool: readonly number[];
  /** Those of the pool whose neighbours may be better than the last of it. */
  lifting: readonly number[];
  tail: readonly number[];
}

/** Most memories that are admitted only because they correct one that was found. */
const MOST_SUCCESSORS = 256;

/** How far from an admitted memory its neighbours are told. */
const NEIGHBOUR_DISTANCE = 2;

/** Gathers the columns of all that was found, of what corrects it, and of its neighbours. */
export function collectSignals(question: Question, found: Found): Omit<Signals, 'stagesMs'> {
  const { index } = question;
  const rows = new Rows();
  for (const row of found.pool) rows.add(row);
  const hits = rows.size;
  addSuccessors(question, rows);
  addRelevantNeighbours(question, found, rows);
  const pool = rows.size;
  addSources(question, rows);
  for (const row of found.tail) rows.add(row);
  addSuccessors(question, rows);
  addSources(question, rows);
  const admitted = rows.size;
  addNeighbours(index, rows);
  const all = rows.rows;
  const described = index.describe(all);
  return {
    memoryCount: question.memoryCount,
    documentFrequencies: question.documentFrequencies,
    found: hits,
    pool,
    admitted,
    ordinals: described.ordinals,
    createdAts: described.createdAts,
    lengths: described.lengths,
    frequencies: index.frequencies(all),
    cosines: cosines(question, all),
    retentions: retentions(question.connection, described, admitted, question.now),
    sessions: described.sessions.map((session) => session - 1),
    speakers: described.speakers,
    marks: described.marks,
    previous: described.previous.map((row) => rows.placeOf(row)),
    next: described.next.map((row) => rows.placeOf(row)),
    supersededBy: supersededBy(question, rows, admitted),
    distilledInto: distilledInto(question, rows, admitted),
    speaks: speaks(question, all),
  };
}

// What corrects a memory is admitted with it, so that a correction in other words cannot be missed.
function addSuccessors(question: Question, rows: Rows): void {
  for (let place = 0, added = 0; place < rows.size && added < MOST_SUCCESSORS; place++) {
    const successor = successorOf(question, rows.rows[place] as number);
    if (successor === NO_ROW || rows.has(successor) || !question.index.isAllowed(successor)) continue;
    rows.add(successor);
    added++;
  }
}

/** The row of the memory that corrects one, where it is in recall. */
function successorOf({ connection, index }: Question, row: number): number {
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

// A semantic memory is placed below its sources, and takes no place in the pool from them.
function addSources(question: Question, rows: Rows): void {
  for (const semantic of rows.rows.slice()) {
    for (const source of sourcesOf(question, semantic)) {
      if (question.index.isAllowed(source)) rows.add(source);
    }
  }
}

/** The rows of what a memory was distilled from, where they are in recall. */
function sourcesOf({ connection, index }: Question, row: number): number[] {
  if (!index.isSemantic(row)) return [];
  const ordinals = sql(connection, 'SELECT source FROM memory_source WHERE semantic = ? ORDER BY source')
    .pluck()
    .all(index.ordinal(row)) as number[];
  return ordinals.map((ordinal) => index.rowOf(ordinal)).filter((source) => source !== NO_ROW);
}

// A memory gains from its neighbours, so one that stands beside a good match can be better than the last of the pool.
// It is admitted if its own words or meaning have anything to do with the query.
function addRelevantNeighbours({ index, vector, documentFrequencies }: Question, { lifting }: Found, rows: Rows): void {
  const beside = new Set(lifting.flatMap((row) => [index.previous(row), index.next(row)]));
  const allowed = [...beside].filter((row) => row !== NO_ROW && !rows.has(row) && index.isAllowed(row));
  const frequencies = index.frequencies(allowed);
  const meanings = vector && index.cosines(vector, allowed);
  const words = documentFrequencies.length;
  allowed.forEach((row, i) => {
    const sharesWord = frequencies.subarray(i * words, (i + 1) * words).some((frequency) => frequency > 0);
    if (sharesWord || (meanings?.[i] as number) > 0) rows.add(row);
  });
}

function addNeighbours(index: RecallIndex, rows: Rows): void {
  for (const step of [index.previous.bind(index), index.next.bind(index)]) {
    for (const row of rows.rows.slice(0)) {
      let beside = row;
      for (let distance = 0; distance < NEIGHBOUR_DISTANCE && beside !== NO_ROW; distance++) {
        beside = step(beside);
        if (beside !== NO_ROW) rows.add(beside);
      }
    }
  }
}

/** Exact where they were measured; for the rest as near as the index in memory tells. */
function cosines({ index, vector, measured }: Question, rows: readonly number[]): Float32Array {
  if (!vector) return new Float32Array(rows.length).fill(Number.NaN);
  const cosines = index.cosines(vector, rows);
  rows.forEach((row, place) => {
    const exact = measured.get(row);
    if (exact !== undefined) cosines[place] = exact;
  });
  return cosines;
}

// Last, since the index then takes the labels for the words of the question.
function speaks({ index, speakers }: Question, rows: readonly number[]): Uint8Array {
  const namesSomebody = index.words(speakers).some((memories) => memories > 0);
  if (!namesSomebody) return new Uint8Array(rows.length * speakers.length);
  return Uint8Array.from(index.frequencies(rows));
}

function supersededBy(question: Question, rows: Rows, admitted: number): Int32Array {
  return Int32Array.from(rows.rows.slice(0, admitted), (row) => {
    const place = rows.placeOf(successorOf(question, row));
    return place < admitted ? place : NO_ROW;
  });
}

function distilledInto(question: Question, rows: Rows, admitted: number): Int32Array {
  const into = new Int32Array(admitted).fill(NO_ROW);
  for (let place = 0; place < admitted; place++) {
    for (const source of sourcesOf(question, rows.rows[place] as number)) {
      const at = rows.placeOf(source);
      if (at !== NO_ROW && at < admitted) into[at] = place;
    }
  }
  return into;
}

/** Rows of the index in the order in which they were added, each once; a place is where in that order. */
class Rows {
  readonly rows: number[] = [];
  readonly #places = new Map<number, number>();

  get size(): number {
    return this.rows.length;
  }

  has(row: number): boolean {
    return this.#places.has(row);
  }

  add(row: number): void {
    if (this.#places.has(row)) return;
    this.#places.set(row, this.rows.length);
    this.rows.push(row);
  }

  /** `NO_ROW` where it has not been added. */
  placeOf(row: number): number {
    return this.#places.get(row) ?? NO_ROW;
  }
}
