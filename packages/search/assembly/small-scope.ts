import { findFirstRow } from './gallop';
import { allocate, release } from './memory';
import { getChunkLength, getChunkPostings, getFirstChunk, getNextChunk, getPostingCount, getRow } from './postings';
import { get, LIVE, NAMESPACE, rowCount } from './rows';
import { NONE } from './table';

/*
 * The rows in a small scope: the rows of the query's users, if they are at most 1/`SMALL_SCOPE_SHARE` of all rows. The
 * rows are listed in ascending order, each with the number of conditions that the row has met. The time of a query with
 * a small scope grows with the number of these rows instead of the size of the index.
 */

/** A scope is small if it contains at most 1/`SMALL_SCOPE_SHARE` of all rows. */
const SMALL_SCOPE_SHARE: u32 = 8;

export let isSmallScope: bool = false;
/** Number of rows in the small scope; 0 if the scope is not small. */
export let smallScopeCount: u32 = 0;

let rows: usize = 0;
let conditionCounts: usize = 0;
/** Buffer for the rows of one user while they are merged into `rows`. */
let added: usize = 0;
let capacity: u32 = 0;

/**
 * Begins a query. If the given postings lists are short enough, sets the small scope to their live rows in the
 * namespace and returns true. Otherwise, or without lists, empties the small scope and returns false. The lists must be
 * disjoint.
 *
 * @param terms the numbers of the postings lists; NONE is an empty list
 */
export function beginSmallScope(namespace: u32, terms: usize, count: u32): bool {
  let total: u32 = 0;
  for (let i: u32 = 0; i < count; i++) total += getLength(load<u32>(terms + (i << 2)));
  isSmallScope = count > 0 && total * SMALL_SCOPE_SHARE <= rowCount;
  smallScopeCount = 0;
  if (!isSmallScope) return false;
  ensureCapacity(total);
  for (let i: u32 = 0; i < count; i++) mergeIn(namespace, load<u32>(terms + (i << 2)));
  memory.fill(conditionCounts, 0, smallScopeCount);
  return true;
}

function getLength(term: u32): u32 {
  return term === NONE ? 0 : getPostingCount(term);
}

// Merges from the end, so that rows already in the list move at most once.
function mergeIn(namespace: u32, term: u32): void {
  if (term === NONE) return;
  let addedCount: u32 = 0;
  for (let chunk = getFirstChunk(term); chunk !== 0; chunk = getNextChunk(chunk)) {
    const postings = getChunkPostings(chunk);
    const length = getChunkLength(chunk);
    for (let i: u32 = 0; i < length; i++) {
      const row = getRow(load<u32>(postings + (i << 2)));
      const isIn = get<u8>(row, LIVE) !== 0 && get<u32>(row, NAMESPACE) === namespace;
      if (isIn) store<u32>(added + (addedCount++ << 2), row);
    }
  }
  let before = smallScopeCount;
  smallScopeCount += addedCount;
  for (let place = smallScopeCount; addedCount > 0; ) {
    const row = load<u32>(added + ((addedCount - 1) << 2));
    if (before > 0 && getSmallScopeRow(before - 1) > row) store<u32>(rows + (--place << 2), getSmallScopeRow(--before));
    else {
      store<u32>(rows + (--place << 2), row);
      addedCount--;
    }
  }
}

export function getSmallScopeRow(place: u32): u32 {
  return load<u32>(rows + (place << 2));
}

/** Returns the number of conditions that the row at a place has met. */
export function getConditionsMet(place: u32): u32 {
  return load<u8>(conditionCounts + place);
}

export function setConditionsMet(place: u32, conditions: u32): void {
  store<u8>(conditionCounts + place, conditions as u8);
}

/** Returns the place of a row in the small scope; NONE if the small scope does not contain the row. */
export function findInSmallScope(row: u32): u32 {
  const place = findFirstRow(rows, 4, 0, 0, smallScopeCount, row);
  return place < smallScopeCount && getSmallScopeRow(place) === row ? place : NONE;
}

function ensureCapacity(count: u32): void {
  if (count <= capacity) return;
  if (capacity > 0) {
    release(rows, capacity << 2);
    release(conditionCounts, capacity);
    release(added, capacity << 2);
  }
  // Reset before the allocations, so that a trap does not leave a capacity without memory.
  capacity = 0;
  const newCapacity = max<u32>(count, 1024);
  rows = allocate(newCapacity << 2);
  conditionCounts = allocate(newCapacity);
  added = allocate(newCapacity << 2);
  capacity = newCapacity;
}
