import { full, reserve } from './memory';

/*
 * A row is a memory's place in the index; its number is never used again. Rows stand in blocks, and each block keeps
 * one column after the other.
 */

export const BLOCK_ROWS: u32 = 16384;
const BLOCK_BITS: u32 = 14;
export const MAX_ROWS: u32 = 1 << 24;
const MAX_BLOCKS: u32 = MAX_ROWS >> BLOCK_BITS;

/** Of the memory. Times are milliseconds since 1970 in UTC. */
export const ORDINAL: usize = 0;
export const CREATED_AT: usize = ORDINAL + 8 * BLOCK_ROWS;
/** Infinity where it does not expire. */
export const EXPIRES_AT: usize = CREATED_AT + 8 * BLOCK_ROWS;
export const STORED_AT: usize = EXPIRES_AT + 8 * BLOCK_ROWS;
/** Numbers that stand for the digests of a namespace and of a session; a session's number 0 is none. */
export const NAMESPACE: usize = STORED_AT + 8 * BLOCK_ROWS;
export const SESSION: usize = NAMESPACE + 4 * BLOCK_ROWS;
/** Rows beside it in its session; NONE at an end, UNPLACED while its place is not known. */
export const PREVIOUS: usize = SESSION + 4 * BLOCK_ROWS;
export const NEXT: usize = PREVIOUS + 4 * BLOCK_ROWS;
/** Length in terms that count. */
export const LENGTH: usize = NEXT + 4 * BLOCK_ROWS;
/** A number made of its terms in their order, so that equal texts have the same; 0 where it has none. */
export const TEXT: usize = LENGTH + 4 * BLOCK_ROWS;
/** Word match of the query under way; 0 between queries. */
export const MATCH: usize = TEXT + 4 * BLOCK_ROWS;
/** Which revision of the memory's text and labels stands here. */
export const REVISION: usize = MATCH + 4 * BLOCK_ROWS;
export const SPEAKER: usize = REVISION + 4 * BLOCK_ROWS;
export const IMPORTANCE: usize = SPEAKER + 4 * BLOCK_ROWS;
/** First of its vectors, which follow each other, and how many. */
export const VECTOR: usize = IMPORTANCE + 4 * BLOCK_ROWS;
export const VECTORS: usize = VECTOR + 4 * BLOCK_ROWS;
/** Its terms and labels, each once. */
export const TERMS: usize = VECTORS + 2 * BLOCK_ROWS;
/** Address of a list of them (see terms-of-row.ts). */
export const TERM_LIST: usize = TERMS + 4 * BLOCK_ROWS;
export const MARKS: usize = TERM_LIST + 4 * BLOCK_ROWS;
export const TIER: usize = MARKS + 2 * BLOCK_ROWS;
export const SUPERSEDED: usize = TIER + BLOCK_ROWS;
/** 1 while the memory is in recall. */
export const LIVE: usize = SUPERSEDED + BLOCK_ROWS;
/** 1 while it is, and is not distilled: what a distilled memory says is counted in its sources. */
export const COUNTED: usize = LIVE + BLOCK_ROWS;
/** How many of the conditions of the query under way the row has met so far. */
export const ALLOWED: usize = COUNTED + BLOCK_ROWS;
const BLOCK_BYTES: usize = ALLOWED + BLOCK_ROWS;

const blocks = memory.data(MAX_BLOCKS * 4, 16);
const soonestExpiries = memory.data(MAX_BLOCKS * 8, 16);

export let rowCount: u32 = 0;

/** A new row of zeros. Traps where there are as many as numbers. */
export function addRow(): u32 {
  if (rowCount === MAX_ROWS) full();
  const row = rowCount++;
  if ((row & (BLOCK_ROWS - 1)) === 0) {
    const block = row >> BLOCK_BITS;
    store<usize>(blocks + (block << 2), reserve(BLOCK_BYTES));
    store<f64>(soonestExpiries + (block << 3), Infinity);
  }
  return row;
}

export function blockAt(block: u32): usize {
  return load<usize>(blocks + (block << 2));
}

export function getBlock(row: u32): usize {
  return blockAt(row >> BLOCK_BITS);
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
  const soonest = soonestExpiries + ((row >> BLOCK_BITS) << 3);
  store<f64>(soonest, min(load<f64>(soonest), expiresAt));
}

/** At or before the first expiry in a block. */
export function soonestExpiry(block: u32): f64 {
  return load<f64>(soonestExpiries + (block << 3));
}
