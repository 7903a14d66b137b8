import { MAX_PASSAGE_DISTANCE } from '../ranking/conversation.ts';
import { NO_ROW } from '../ranking/signals.ts';

/** Fraction of the pool, counted from the best row, whose neighbors may join the pool. Chosen, not measured. */
const LIFTING_SHARE = 0.4;

/**
 * Maximum candidates with the same text, applied to word results and vector results separately. Further rows with that
 * text only fill remaining slots. Chosen, not measured.
 */
export const MAX_PER_TEXT = 8;

/** Maximum superseding memories that one call of `addSuccessors` adds to the candidates. */
export const MAX_SUCCESSORS = 256;

/**
 * Maximum distance of a candidate's returned neighbors, on each side, in memories of the session. Half of the passage
 * distance, so that the neighbors of two candidates in one passage include every memory between the two candidates.
 */
export const NEIGHBOR_DISTANCE = MAX_PASSAGE_DISTANCE / 2;

/** Rows that match by words or vectors. A row is the number by which an adapter identifies an index entry. */
export interface Matches {
  pool: readonly number[];
  /** The best rows of the pool. Their neighbors may join the pool. */
  lifting: readonly number[];
  tail: readonly number[];
}

/**
 * Combines word results and vector results, each best first. `tailByMeaning` has the vector results after the last
 * result in `byMeaning`.
 */
export function combineMatches(
  byWords: readonly number[],
  byMeaning: readonly number[],
  tailByMeaning: readonly number[],
  poolSize: number,
): Matches {
  return {
    pool: firstOfEach(byWords, byMeaning, poolSize),
    lifting: firstOfEach(byWords, byMeaning, Math.ceil(poolSize * LIFTING_SHARE)),
    tail: [...byWords.slice(poolSize), ...tailByMeaning],
  };
}

function firstOfEach(byWords: readonly number[], byMeaning: readonly number[], count: number): number[] {
  return [...new Set([...byWords.slice(0, count), ...byMeaning.slice(0, count)])];
}

/** Relations of an index row to other rows and to the query. `NO_ROW` means that no such row exists. */
export interface RowRelations {
  /** Returns true if the row matches the filter of the query. */
  isAllowed(row: number): boolean;
  /** `previous` and `next` return the rows of the adjacent memories in the same session. */
  previous(row: number): number;
  next(row: number): number;
  /** Returns the row of the memory that supersedes the memory of `row`. */
  successor(row: number): number;
  /** Returns the rows of the memories that the memory of `row` was distilled from. */
  sources(row: number): readonly number[];
  /** Returns the rows that share a word with the query or have a positive cosine to it. */
  relevant(rows: readonly number[]): number[];
}

/**
 * The candidates of a query and their context in the order of `Signals`, with the supersession and source links of the
 * candidates.
 */
export interface CandidateRows {
  rows: readonly number[];
  found: number;
  pool: number;
  candidateCount: number;
  supersededBy: Int32Array;
  distilledInto: Int32Array;
  /** Returns the index of each row in `rows`, or `NO_ROW` for a row that is not in `rows`. */
  getPlaces(rows: ArrayLike<number>): Int32Array;
}

/**
 * Collects the candidates (the matching rows, the rows that supersede a candidate, and the sources of candidates), and
 * the neighbors of candidates as context.
 */
export function collectCandidates(relations: RowRelations, found: Matches): CandidateRows {
  const rows = new Rows();
  for (const row of found.pool) rows.add(row);
  const hits = rows.size;
  const followed = addSuccessors(relations, rows, 0);
  addRelevantNeighbors(relations, found, rows);
  const pool = rows.size;
  addSources(relations, rows, 0);
  for (const row of found.tail) rows.add(row);
  addSuccessors(relations, rows, followed);
  addSources(relations, rows, pool);
  const candidateCount = rows.size;
  addNeighbors(relations, rows);
  return {
    rows: rows.rows,
    found: hits,
    pool,
    candidateCount,
    supersededBy: supersededBy(relations, rows, candidateCount),
    distilledInto: distilledInto(relations, rows, candidateCount),
    getPlaces: (others) => rows.getPlaces(others),
  };
}

/**
 * Adds the memories that supersede the rows, so that recall finds a correction that shares no words with the query.
 *
 * @param from index of the first row to examine
 * @returns index of the first row not examined; less than the number of rows if MAX_SUCCESSORS were added
 */
function addSuccessors(relations: RowRelations, rows: Rows, from: number): number {
  let place = from;
  for (let added = 0; place < rows.size && added < MAX_SUCCESSORS; place++) {
    const successor = relations.successor(rows.rows[place] as number);
    if (successor === NO_ROW || rows.has(successor) || !relations.isAllowed(successor)) continue;
    rows.add(successor);
    added++;
  }
  return place;
}

// Adds the sources of the semantic memories at or after the index `from`. A semantic memory ranks below its sources, so
// the sources must be candidates too.
function addSources(relations: RowRelations, rows: Rows, from: number): void {
  for (const semantic of rows.rows.slice(from)) {
    for (const source of relations.sources(semantic)) {
      if (relations.isAllowed(source)) rows.add(source);
    }
  }
}

// Neighbors raise the score of a memory, so the neighbor of a good match can rank above the last row of the pool. A
// neighbor joins the pool only if it also matches the query.
function addRelevantNeighbors(relations: RowRelations, { lifting }: Matches, rows: Rows): void {
  const neighbors = new Set(lifting.flatMap((row) => [relations.previous(row), relations.next(row)]));
  const allowed = [...neighbors].filter((row) => row !== NO_ROW && !rows.has(row) && relations.isAllowed(row));
  for (const row of relations.relevant(allowed)) rows.add(row);
}

// Adds the direct neighbors of each row, and the one or two memories between two rows, so that passages have no gaps.
function addNeighbors(relations: RowRelations, rows: Rows): void {
  const candidateCount = rows.rows.slice();
  for (const row of candidateCount) {
    rows.addIfAny(relations.previous(row));
    rows.addIfAny(relations.next(row));
  }
  const between = candidateCount.flatMap((row) => rowsBetween(relations, row, rows));
  for (const row of between) rows.add(row);
}

/**
 * Returns the rows between the next memory of a row and the nearest following row in `rows`, if there are at most two.
 */
function rowsBetween(relations: RowRelations, row: number, rows: Rows): number[] {
  const between: number[] = [];
  let at = row;
  for (let distance = 0; distance < 2 * NEIGHBOR_DISTANCE; distance++) {
    at = relations.next(at);
    if (at === NO_ROW) return [];
    if (distance === 0) continue;
    if (rows.has(at)) return between;
    between.push(at);
  }
  return [];
}

function supersededBy(relations: RowRelations, rows: Rows, candidateCount: number): Int32Array {
  const by = new Int32Array(candidateCount).fill(NO_ROW);
  for (let place = 0; place < candidateCount; place += 1) {
    const successor = relations.successor(rows.rows[place] as number);
    const at = successor === NO_ROW ? NO_ROW : rows.getPlace(successor);
    if (at < candidateCount) by[place] = at;
  }
  return by;
}

function distilledInto(relations: RowRelations, rows: Rows, candidateCount: number): Int32Array {
  const into = new Int32Array(candidateCount).fill(NO_ROW);
  for (let place = 0; place < candidateCount; place++) {
    for (const source of relations.sources(rows.rows[place] as number)) {
      const at = rows.getPlace(source);
      if (at !== NO_ROW && at < candidateCount) into[at] = place;
    }
  }
  return into;
}

/** Distinct rows in insertion order. A place is an index in that order. */
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

  addIfAny(row: number): void {
    if (row !== NO_ROW) this.add(row);
  }

  getPlaces(others: ArrayLike<number>): Int32Array {
    const places = new Int32Array(others.length);
    for (let i = 0; i < others.length; i += 1) places[i] = this.getPlace(others[i] as number);
    return places;
  }

  /** Returns the index of a row, or `NO_ROW` if the row was not added. */
  getPlace(row: number): number {
    return this.#places.get(row) ?? NO_ROW;
  }
}
