import { PASSAGE_DISTANCE } from '../core/ranking/conversation.ts';
import { NO_ROW } from '../ports/storage-search.ts';

/** The part of the pool, best first, that is good enough to lift a neighbour past the rest of it. Set, not measured. */
const LIFTING_SHARE = 0.4;

/**
 * Of memories with one text, so many are among what words, or vectors, find, as long as there are others: enough to choose
 * the best of them by. Set, not measured.
 */
export const MAX_PER_TEXT = 8;

/** Most memories that are admitted only because they correct one that was found. */
export const MAX_SUCCESSORS = 256;

/**
 * Memories beside an admitted one, on each side, that are told where they part it from the next such: all that stand
 * between two that are in one passage.
 */
export const NEIGHBOUR_DISTANCE = PASSAGE_DISTANCE / 2;

/** Rows that words and vectors found; a row is whatever number an adapter knows a memory in recall by. */
export interface Found {
  pool: readonly number[];
  /** Those of the pool whose neighbours may be better than the last of it. */
  lifting: readonly number[];
  tail: readonly number[];
}

/** What words and vectors found, each best first; what the vectors found beyond the pool is apart. */
export function foundBy(
  byWords: readonly number[],
  byMeaning: readonly number[],
  tailByMeaning: readonly number[],
  poolSize: number,
): Found {
  return {
    pool: firstOfEach(byWords, byMeaning, poolSize),
    lifting: firstOfEach(byWords, byMeaning, Math.ceil(poolSize * LIFTING_SHARE)),
    tail: [...byWords.slice(poolSize), ...tailByMeaning],
  };
}

function firstOfEach(byWords: readonly number[], byMeaning: readonly number[], count: number): number[] {
  return [...new Set([...byWords.slice(0, count), ...byMeaning.slice(0, count)])];
}

/** How memories in recall stand to each other, and to the query; `NO_ROW` where there is none. */
export interface Surroundings {
  /** Whether the query may be answered with it. */
  isAllowed(row: number): boolean;
  /** The memory before and after it in its session. */
  previous(row: number): number;
  next(row: number): number;
  /** The memory that corrects it. */
  successor(row: number): number;
  /** What it was distilled from. */
  sources(row: number): readonly number[];
  /** Those of some rows whose own words or meaning have anything to do with the query. */
  relevant(rows: readonly number[]): number[];
}

/** What is told of a query: rows in their order, and how they stand to each other. See `Signals`. */
export interface Gathered {
  rows: readonly number[];
  found: number;
  pool: number;
  admitted: number;
  supersededBy: Int32Array;
  distilledInto: Int32Array;
  /** The places of rows that stand beside these, or `NO_ROW`; `NO_ROW` too for those that are not told of. */
  getPlaces(beside: ArrayLike<number>): Int32Array;
}

/** Gathers all that was found, what corrects it, what it was distilled from, and its neighbours. */
export function gather(around: Surroundings, found: Found): Gathered {
  const rows = new Rows();
  for (const row of found.pool) rows.add(row);
  const hits = rows.size;
  const followed = addSuccessors(around, rows, 0);
  addRelevantNeighbours(around, found, rows);
  const pool = rows.size;
  addSources(around, rows, 0);
  for (const row of found.tail) rows.add(row);
  addSuccessors(around, rows, followed);
  addSources(around, rows, pool);
  const admitted = rows.size;
  addNeighbours(around, rows);
  return {
    rows: rows.rows,
    found: hits,
    pool,
    admitted,
    supersededBy: supersededBy(around, rows, admitted),
    distilledInto: distilledInto(around, rows, admitted),
    getPlaces: (beside) => rows.getPlaces(beside),
  };
}

/**
 * Admits what corrects a memory with it, so that a correction in other words cannot be missed.
 *
 * @param from the place of the first row whose successor has not been looked for
 * @returns that place afterwards: not the end where MAX_SUCCESSORS were added
 */
function addSuccessors(around: Surroundings, rows: Rows, from: number): number {
  let place = from;
  for (let added = 0; place < rows.size && added < MAX_SUCCESSORS; place++) {
    const successor = around.successor(rows.rows[place] as number);
    if (successor === NO_ROW || rows.has(successor) || !around.isAllowed(successor)) continue;
    rows.add(successor);
    added++;
  }
  return place;
}

// A semantic memory is placed below its sources, and takes no place in the pool from them.
function addSources(around: Surroundings, rows: Rows, from: number): void {
  for (const semantic of rows.rows.slice(from)) {
    for (const source of around.sources(semantic)) {
      if (around.isAllowed(source)) rows.add(source);
    }
  }
}

// A memory gains from its neighbours, so one that stands beside a good match can be better than the last of the pool.
// It is admitted if its own words or meaning have anything to do with the query.
function addRelevantNeighbours(around: Surroundings, { lifting }: Found, rows: Rows): void {
  const beside = new Set(lifting.flatMap((row) => [around.previous(row), around.next(row)]));
  const allowed = [...beside].filter((row) => row !== NO_ROW && !rows.has(row) && around.isAllowed(row));
  for (const row of around.relevant(allowed)) rows.add(row);
}

// What stands beside an answer, and the one or two memories that part two such, so that a passage goes on over them.
function addNeighbours(around: Surroundings, rows: Rows): void {
  const admitted = rows.rows.slice();
  for (const row of admitted) {
    rows.addIfAny(around.previous(row));
    rows.addIfAny(around.next(row));
  }
  const parting = admitted.flatMap((row) => partingAfter(around, row, rows));
  for (const row of parting) rows.add(row);
}

/** Those between what stands after a row and the next of some rows; none where they are more than two. */
function partingAfter(around: Surroundings, row: number, rows: Rows): number[] {
  const parting: number[] = [];
  let at = row;
  for (let distance = 0; distance < 2 * NEIGHBOUR_DISTANCE; distance++) {
    at = around.next(at);
    if (at === NO_ROW) return [];
    if (distance === 0) continue;
    if (rows.has(at)) return parting;
    parting.push(at);
  }
  return [];
}

function supersededBy(around: Surroundings, rows: Rows, admitted: number): Int32Array {
  const by = new Int32Array(admitted).fill(NO_ROW);
  for (let place = 0; place < admitted; place += 1) {
    const successor = around.successor(rows.rows[place] as number);
    const at = successor === NO_ROW ? NO_ROW : rows.getPlace(successor);
    if (at < admitted) by[place] = at;
  }
  return by;
}

function distilledInto(around: Surroundings, rows: Rows, admitted: number): Int32Array {
  const into = new Int32Array(admitted).fill(NO_ROW);
  for (let place = 0; place < admitted; place++) {
    for (const source of around.sources(rows.rows[place] as number)) {
      const at = rows.getPlace(source);
      if (at !== NO_ROW && at < admitted) into[at] = place;
    }
  }
  return into;
}

/** Rows in the order in which they were added, each once; a place is where in that order. */
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

  /** `NO_ROW` where it has not been added. */
  getPlace(row: number): number {
    return this.#places.get(row) ?? NO_ROW;
  }
}
