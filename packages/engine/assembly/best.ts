import { get, ORDINAL } from './rows';

/*
 * The best of many rows, as a heap whose root is the least of them (Williams 1964): row (32 bits) and how good it is (a
 * 32-bit float), of equally good ones the memory of the lower ordinal being less.
 */

/** Of one row. */
export const BEST_BYTES: u32 = 8;

/** Offers a row to the best `most`, of which the heap holds `size`; answers how many it holds then. */
export function keepBest(heap: usize, size: u32, most: u32, row: u32, value: f32): u32 {
  if (size < most) {
    rise(heap, size, row, value);
    return size + 1;
  }
  if (isLess(load<u32>(heap), load<f32>(heap, 4), row, value)) sink(heap, size, row, value);
  return size;
}

/** Puts a heap in order, the best first. */
export function sortBest(heap: usize, size: u32): void {
  for (let end = size; end > 1; end--) {
    const last = heap + (end - 1) * BEST_BYTES;
    const row = load<u32>(last);
    const value = load<f32>(last, 4);
    put(heap, end - 1, load<u32>(heap), load<f32>(heap, 4));
    sink(heap, end - 1, row, value);
  }
}

function isLess(row: u32, value: f32, otherRow: u32, otherValue: f32): bool {
  if (value !== otherValue) return value < otherValue;
  return get<f64>(row, ORDINAL) < get<f64>(otherRow, ORDINAL);
}

function rise(heap: usize, from: u32, row: u32, value: f32): void {
  let place = from;
  while (place > 0) {
    const parent = (place - 1) >> 1;
    const at = heap + parent * BEST_BYTES;
    if (!isLess(row, value, load<u32>(at), load<f32>(at, 4))) break;
    put(heap, place, load<u32>(at), load<f32>(at, 4));
    place = parent;
  }
  put(heap, place, row, value);
}

function sink(heap: usize, size: u32, row: u32, value: f32): void {
  let place: u32 = 0;
  for (;;) {
    let child = place * 2 + 1;
    if (child >= size) break;
    const left = heap + child * BEST_BYTES;
    const right = left + BEST_BYTES;
    if (child + 1 < size && isLess(load<u32>(right), load<f32>(right, 4), load<u32>(left), load<f32>(left, 4))) child++;
    const at = heap + child * BEST_BYTES;
    if (!isLess(load<u32>(at), load<f32>(at, 4), row, value)) break;
    put(heap, place, load<u32>(at), load<f32>(at, 4));
    place = child;
  }
  put(heap, place, row, value);
}

function put(heap: usize, place: u32, row: u32, value: f32): void {
  store<u32>(heap + place * BEST_BYTES, row);
  store<f32>(heap + place * BEST_BYTES, value, 4);
}

/*
 * Of rows with one text, a search lets only some among the best, so that a thousand of them leave room for others. How many
 * there were of each text so far stands in a hash table of fixed size: what finds no place in it is let in.
 */

const SLOTS: u32 = 8192;
/** Slots in a row that are looked at for a text. */
const PROBES: u32 = 8;

/** A text's number (32 bits, 0 in a free slot) and how many rows had it (32 bits). */
const SLOT_BITS: u32 = 3;
const slots = memory.data((SLOTS + PROBES) << SLOT_BITS, 16);

let mostOfText: u32 = u32.MAX_VALUE;

/** Whether the search under way has left out any row for its text. */
export let leftOut: bool = false;

/** Begins a search that lets in so many rows of each text. */
export function beginCrowd(most: u32): void {
  mostOfText = most;
  leftOut = false;
  if (most !== u32.MAX_VALUE) memory.fill(slots, 0, (SLOTS + PROBES) << SLOT_BITS);
}

/**
 * Whether as many rows have been let in as may be of the text that a number stands for; if not, one more is let in. Any
 * number are let in of what has no text, for which 0 stands.
 */
export function isCrowdedOut(text: u32): bool {
  if (mostOfText === u32.MAX_VALUE || text === 0) return false;
  for (let probe: u32 = 0; probe < PROBES; probe++) {
    const slot = slots + (((text & (SLOTS - 1)) + probe) << SLOT_BITS);
    const found = load<u32>(slot);
    if (found !== 0 && found !== text) continue;
    const count = load<u32>(slot, 4);
    if (count >= mostOfText) return (leftOut = true);
    store<u32>(slot, text);
    store<u32>(slot, count + 1, 4);
    return false;
  }
  return false;
}
