import { reserve, trapOutOfMemory } from './memory';

/*
 * A row is a memory's number in the index. Row numbers are never reused. The fields of rows are stored in blocks of
 * `BLOCK_ROWS` rows. A block stores one field after another, each as a column with the values of all its rows.
 */

export const BLOCK_ROWS: u32 = 16384;
const BLOCK_BITS: u32 = 14;
export const MAX_ROWS: u32 = 1 << 24;
const MAX_BLOCKS: u32 = MAX_ROWS >> BLOCK_BITS;

/** Offsets of columns in a block. Times are milliseconds since 1970 in UTC. */
export const ORDINAL: usize = 0;
export const CREATED_AT: usize = ORDINAL + 8 * BLOCK_ROWS;
/** Infinity if the memory does not expire. */
export const EXPIRES_AT: usize = CREATED_AT + 8 * BLOCK_ROWS;
/** The period in which the memory holds, unless REPLACEMENT is VARYING; see `setState`. */
export const BEGINS_AT: usize = EXPIRES_AT + 8 * BLOCK_ROWS;
export const ENDS_AT: usize = BEGINS_AT + 8 * BLOCK_ROWS;
export const STORED_AT: usize = ENDS_AT + 8 * BLOCK_ROWS;
/** Number of the memory's namespace. */
export const NAMESPACE: usize = STORED_AT + 8 * BLOCK_ROWS;
/** Number of the memory's session; 0 if the memory has no session. */
export const SESSION: usize = NAMESPACE + 4 * BLOCK_ROWS;
/**
 * The previous row in the session; NONE at the start or without a session, UNPLACED (see sessions.ts) while the row is
 * postponed.
 */
export const PREVIOUS: usize = SESSION + 4 * BLOCK_ROWS;
/** The next row in the session; NONE at the end, without a session, or while the row is postponed. */
export const NEXT: usize = PREVIOUS + 4 * BLOCK_ROWS;
/** Length of the text in words, from `termFrequencies`. BM25 damps term frequencies by this length. */
export const LENGTH: usize = NEXT + 4 * BLOCK_ROWS;
/**
 * A hash of the terms of a memory and their frequencies, equal for memories with equal texts and tags; 0 for a memory
 * without terms.
 */
export const TEXT: usize = LENGTH + 4 * BLOCK_ROWS;
/** Match score of the current query; 0 between queries. */
export const MATCH: usize = TEXT + 4 * BLOCK_ROWS;
/** Revision of the indexed text and labels. */
export const REVISION: usize = MATCH + 4 * BLOCK_ROWS;
export const SPEAKER: usize = REVISION + 4 * BLOCK_ROWS;
export const IMPORTANCE: usize = SPEAKER + 4 * BLOCK_ROWS;
/** Number of the row's first vector. The vectors of a row are consecutive. */
export const VECTOR: usize = IMPORTANCE + 4 * BLOCK_ROWS;
/** Number of the row's vectors. */
export const VECTORS: usize = VECTOR + 4 * BLOCK_ROWS;
/** Number of distinct terms and labels. */
export const TERMS: usize = VECTORS + 2 * BLOCK_ROWS;
/** Address of the list of the row's terms and labels (see terms-of-row.ts). */
export const TERM_LIST: usize = TERMS + 4 * BLOCK_ROWS;
export const MARKS: usize = TERM_LIST + 4 * BLOCK_ROWS;
export const TIER: usize = MARKS + 2 * BLOCK_ROWS;
/** 0 if nothing replaces the memory, `REPLACED` if another memory does from ENDS_AT on, higher if the times do not tell. */
export const REPLACEMENT: usize = TIER + BLOCK_ROWS;
/** 1 until the memory is removed or gets a new row. */
export const LIVE: usize = REPLACEMENT + BLOCK_ROWS;
/**
 * 1 if document frequencies include the row: while the row is live, unless the memory is semantic. The words of a
 * semantic memory are already counted in the sources of the memory.
 */
export const COUNTED: usize = LIVE + BLOCK_ROWS;
/** Number of the current query's conditions that the row met before the first condition that the row did not meet. */
export const ALLOWED: usize = COUNTED + BLOCK_ROWS;
export const REPLACED: u8 = 1;
const BLOCK_BYTES: usize = ALLOWED + BLOCK_ROWS;

const blocks = memory.data(MAX_BLOCKS * 4, 16);
const earliestExpiries = memory.data(MAX_BLOCKS * 8, 16);

export let rowCount: u32 = 0;

/** Adds a zeroed row. Traps if all row numbers are used. */
export function addRow(): u32 {
  if (rowCount === MAX_ROWS) trapOutOfMemory();
  const row = rowCount++;
  if ((row & (BLOCK_ROWS - 1)) === 0) {
    const block = row >> BLOCK_BITS;
    store<usize>(blocks + (block << 2), reserve(BLOCK_BYTES));
    store<f64>(earliestExpiries + (block << 3), Infinity);
  }
  return row;
}

export function getBlockAt(block: u32): usize {
  return load<usize>(blocks + (block << 2));
}

export function getBlock(row: u32): usize {
  return getBlockAt(row >> BLOCK_BITS);
}

export function inBlock(row: u32): u32 {
  return row & (BLOCK_ROWS - 1);
}

export function get<T>(row: u32, column: usize): T {
  return load<T>(getBlock(row) + column + inBlock(row) * sizeof<T>());
}

export function set<T>(row: u32, column: usize, value: T): void {
  store<T>(getBlock(row) + column + inBlock(row) * sizeof<T>(), value);
}

export function setExpiry(row: u32, expiresAt: f64): void {
  set<f64>(row, EXPIRES_AT, expiresAt);
  const earliest = earliestExpiries + ((row >> BLOCK_BITS) << 3);
  store<f64>(earliest, min(load<f64>(earliest), expiresAt));
}

/** Returns a lower bound of the expiry times in a block. */
export function getEarliestExpiry(block: u32): f64 {
  return load<f64>(earliestExpiries + (block << 3));
}
