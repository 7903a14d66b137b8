import { findFirstRow } from './gallop';
import { allocate, release } from './memory';

/*
 * The rows selected for detailed reads. They are sorted in ascending order, so that consecutive reads are close in
 * memory. The place of a row is its index in the host's order, which is the order of results.
 */

/** Bytes of a pair: a place and the row at this place. */
const PAIR_BYTES: u32 = 8;
const ROW: usize = 4;

let pairs: usize = 0;
let spare: usize = 0;
let capacity: u32 = 0;
export let selectedCount: u32 = 0;

/** Bits of a row number that one pass sorts by. */
const DIGIT_BITS: u32 = 8;
const DIGITS: u32 = 1 << DIGIT_BITS;
const ends = memory.data(DIGITS * 4, 16);

/** Selects rows for `writeFrequencies`, `cosines` and `describe`, given as 32-bit numbers in the order of results. */
export function select(rows: usize, count: u32): void {
  ensureCapacity(count);
  selectedCount = count;
  for (let place: u32 = 0; place < count; place++) {
    store<u32>(pairs + place * PAIR_BYTES, place);
    store<u32>(pairs + place * PAIR_BYTES, load<u32>(rows + (place << 2)), ROW);
  }
  for (let shift: u32 = 0; shift < 24; shift += DIGIT_BITS) sortByDigit(shift);
}

export function getSelectedRow(i: u32): u32 {
  return load<u32>(pairs + i * PAIR_BYTES, ROW);
}

export function getSelectedPlace(i: u32): u32 {
  return load<u32>(pairs + i * PAIR_BYTES);
}

/** Returns the first index of the selection, starting at `from`, whose row is at least `row`. */
export function findFirstSelected(from: u32, row: u32): u32 {
  return findFirstRow(pairs + ROW, PAIR_BYTES, 0, from, selectedCount, row);
}

// One stable pass of a radix sort (Knuth, volume 3, section 5.2.5).
function sortByDigit(shift: u32): void {
  memory.fill(ends, 0, DIGITS << 2);
  for (let i: u32 = 0; i < selectedCount; i++) {
    const count = getEnd(getSelectedRow(i), shift);
    store<u32>(count, load<u32>(count) + 1);
  }
  let before: u32 = 0;
  for (let digit: u32 = 0; digit < DIGITS; digit++) {
    const count = load<u32>(ends + (digit << 2));
    store<u32>(ends + (digit << 2), before);
    before += count;
  }
  for (let i: u32 = 0; i < selectedCount; i++) {
    const end = getEnd(getSelectedRow(i), shift);
    store<u64>(spare + load<u32>(end) * PAIR_BYTES, load<u64>(pairs + i * PAIR_BYTES));
    store<u32>(end, load<u32>(end) + 1);
  }
  const sorted = spare;
  spare = pairs;
  pairs = sorted;
}

function getEnd(row: u32, shift: u32): usize {
  return ends + (((row >> shift) & (DIGITS - 1)) << 2);
}

function ensureCapacity(count: u32): void {
  if (count <= capacity) return;
  if (capacity > 0) {
    release(pairs, capacity * PAIR_BYTES);
    release(spare, capacity * PAIR_BYTES);
  }
  // Reset before the allocations, so that a trap does not leave a capacity without memory.
  capacity = 0;
  pairs = allocate(count * PAIR_BYTES);
  spare = allocate(count * PAIR_BYTES);
  capacity = count;
}
