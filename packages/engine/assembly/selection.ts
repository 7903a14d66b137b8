import { firstRowFrom } from './gallop';
import { allocate, release } from './memory';

/*
 * The rows that a question has come down to: in ascending order, so that what is read of one stands near what is read
 * of the next, each with its place in the host's order, which is that of answers.
 */

/** Of one row: its place, then the row. */
const PAIR_BYTES: u32 = 8;
const ROW: usize = 4;

let pairs: usize = 0;
let spare: usize = 0;
let room: u32 = 0;
export let selectedCount: u32 = 0;

/** Of a row number's 24 bits, those that one pass sorts by. */
const DIGIT_BITS: u32 = 8;
const DIGITS: u32 = 1 << DIGIT_BITS;
const ends = memory.data(DIGITS * 4, 16);

/**
 * Selects rows, given as 32-bit numbers in the order of answers: `writeFrequencies`, `cosines` and `describe` then speak
 * of these.
 */
export function select(rows: usize, count: u32): void {
  makeRoom(count);
  selectedCount = count;
  for (let place: u32 = 0; place < count; place++) {
    store<u32>(pairs + place * PAIR_BYTES, place);
    store<u32>(pairs + place * PAIR_BYTES, load<u32>(rows + (place << 2)), ROW);
  }
  for (let shift: u32 = 0; shift < 24; shift += DIGIT_BITS) sortByDigit(shift);
}

export function selectedRow(i: u32): u32 {
  return load<u32>(pairs + i * PAIR_BYTES, ROW);
}

export function selectedPlace(i: u32): u32 {
  return load<u32>(pairs + i * PAIR_BYTES);
}

/** The first of the selection from a place on, in its order, whose row is not before another. */
export function firstSelectedFrom(from: u32, row: u32): u32 {
  return firstRowFrom(pairs + ROW, PAIR_BYTES, 0, from, selectedCount, row);
}

// One pass of a radix sort, which leaves in order what is alike in this digit (Knuth, volume 3, section 5.2.5).
function sortByDigit(shift: u32): void {
  memory.fill(ends, 0, DIGITS << 2);
  for (let i: u32 = 0; i < selectedCount; i++) {
    const count = getEnd(selectedRow(i), shift);
    store<u32>(count, load<u32>(count) + 1);
  }
  let before: u32 = 0;
  for (let digit: u32 = 0; digit < DIGITS; digit++) {
    const count = load<u32>(ends + (digit << 2));
    store<u32>(ends + (digit << 2), before);
    before += count;
  }
  for (let i: u32 = 0; i < selectedCount; i++) {
    const end = getEnd(selectedRow(i), shift);
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

function makeRoom(count: u32): void {
  if (count <= room) return;
  if (room > 0) {
    release(pairs, room * PAIR_BYTES);
    release(spare, room * PAIR_BYTES);
  }
  // Last, so that a call that traps leaves no room that is not there.
  room = 0;
  pairs = allocate(count * PAIR_BYTES);
  spare = allocate(count * PAIR_BYTES);
  room = count;
}
