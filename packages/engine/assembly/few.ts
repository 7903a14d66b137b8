import { firstRowFrom } from './gallop';
import { allocate, release } from './memory';
import { chunkLength, chunkPostings, firstChunk, getRow, nextChunk, postingCount } from './postings';
import { get, LIVE, NAMESPACE, rowCount } from './rows';
import { NONE } from './table';

/*
 * The rows of the users that a question is about, where these are few among all rows: in ascending order, each with how
 * many conditions it has met. A question then takes as long as these rows are many.
 */

/** Few are at most one of so many rows. */
const FEW_SHARE: u32 = 8;

/** Whether the question under way is about few rows. */
export let isFew: bool = false;
/** How many rows the question under way is about; 0 where they are not few. */
export let fewCount: u32 = 0;

let rows: usize = 0;
let met: usize = 0;
/** Rows that are being merged in. */
let added: usize = 0;
let room: u32 = 0;

/**
 * Begins a question about the live rows of a namespace in some lists of postings, no row in two of them. Returns false, and it is about
 * none, where they are not few.
 *
 * @param terms the numbers of the lists; NONE is an empty one
 */
export function beginFew(namespace: u32, terms: usize, count: u32): bool {
  let total: u32 = 0;
  for (let i: u32 = 0; i < count; i++) total += getLength(load<u32>(terms + (i << 2)));
  isFew = count > 0 && total * FEW_SHARE <= rowCount;
  fewCount = 0;
  if (!isFew) return false;
  makeRoom(total);
  for (let i: u32 = 0; i < count; i++) mergeIn(namespace, load<u32>(terms + (i << 2)));
  memory.fill(met, 0, fewCount);
  return true;
}

function getLength(term: u32): u32 {
  return term === NONE ? 0 : postingCount(term);
}

// From the end, so that those that are in already move at most once.
function mergeIn(namespace: u32, term: u32): void {
  if (term === NONE) return;
  let left: u32 = 0;
  for (let chunk = firstChunk(term); chunk !== 0; chunk = nextChunk(chunk)) {
    const postings = chunkPostings(chunk);
    const length = chunkLength(chunk);
    for (let i: u32 = 0; i < length; i++) {
      const row = getRow(load<u32>(postings + (i << 2)));
      const isIn = get<u8>(row, LIVE) !== 0 && get<u32>(row, NAMESPACE) === namespace;
      if (isIn) store<u32>(added + (left++ << 2), row);
    }
  }
  let before = fewCount;
  fewCount += left;
  for (let place = fewCount; left > 0; ) {
    const row = load<u32>(added + ((left - 1) << 2));
    if (before > 0 && fewRow(before - 1) > row) store<u32>(rows + (--place << 2), fewRow(--before));
    else {
      store<u32>(rows + (--place << 2), row);
      left--;
    }
  }
}

export function fewRow(place: u32): u32 {
  return load<u32>(rows + (place << 2));
}

/** How many conditions the row at a place has met. */
export function fewMet(place: u32): u32 {
  return load<u8>(met + place);
}

export function setFewMet(place: u32, conditions: u32): void {
  store<u8>(met + place, conditions as u8);
}

/** The place of a row; NONE where it is none of the few. */
export function placeAmongFew(row: u32): u32 {
  const place = firstRowFrom(rows, 4, 0, 0, fewCount, row);
  return place < fewCount && fewRow(place) === row ? place : NONE;
}

function makeRoom(count: u32): void {
  if (count <= room) return;
  if (room > 0) {
    release(rows, room << 2);
    release(met, room);
    release(added, room << 2);
  }
  // Last, so that a call that traps leaves no room that is not there.
  room = 0;
  const some = max<u32>(count, 1024);
  rows = allocate(some << 2);
  met = allocate(some);
  added = allocate(some << 2);
  room = some;
}
