import { get, ORDINAL } from './rows';

/*
 * The best rows of a search, in a binary heap with the worst row at the root (Williams 1964). An item is a row (32
 * bits) and its score (a 32-bit float). Of rows with equal scores, the memory with the lower ordinal is worse.
 */

/** Size of a heap item in bytes. */
export const HEAP_ITEM_BYTES: u32 = 8;

/**
 * Adds a row to a heap of at most `limit` items, replacing the worst if the heap is full and the row is better.
 *
 * @param size current number of items
 * @returns the new number of items
 */
export function pushToHeap(heap: usize, size: u32, limit: u32, row: u32, value: f32): u32 {
  if (size < limit) {
    rise(heap, size, row, value);
    return size + 1;
  }
  if (isWorse(load<u32>(heap), load<f32>(heap, 4), row, value)) sink(heap, size, row, value);
  return size;
}

/** Sorts a heap, best first. */
export function sortHeap(heap: usize, size: u32): void {
  for (let end = size; end > 1; end--) {
    const last = heap + (end - 1) * HEAP_ITEM_BYTES;
    const row = load<u32>(last);
    const value = load<f32>(last, 4);
    put(heap, end - 1, load<u32>(heap), load<f32>(heap, 4));
    sink(heap, end - 1, row, value);
  }
}

function isWorse(row: u32, value: f32, otherRow: u32, otherValue: f32): bool {
  if (value !== otherValue) return value < otherValue;
  return get<f64>(row, ORDINAL) < get<f64>(otherRow, ORDINAL);
}

function rise(heap: usize, from: u32, row: u32, value: f32): void {
  let place = from;
  while (place > 0) {
    const parent = (place - 1) >> 1;
    const at = heap + parent * HEAP_ITEM_BYTES;
    if (!isWorse(row, value, load<u32>(at), load<f32>(at, 4))) break;
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
    const left = heap + child * HEAP_ITEM_BYTES;
    const right = left + HEAP_ITEM_BYTES;
    if (child + 1 < size && isWorse(load<u32>(right), load<f32>(right, 4), load<u32>(left), load<f32>(left, 4)))
      child++;
    const at = heap + child * HEAP_ITEM_BYTES;
    if (!isWorse(load<u32>(at), load<f32>(at, 4), row, value)) break;
    put(heap, place, load<u32>(at), load<f32>(at, 4));
    place = child;
  }
  put(heap, place, row, value);
}

function put(heap: usize, place: u32, row: u32, value: f32): void {
  store<u32>(heap + place * HEAP_ITEM_BYTES, row);
  store<f32>(heap + place * HEAP_ITEM_BYTES, value, 4);
}

/*
 * A search limits the rows with equal texts, so that a thousand copies leave room for other rows. The number of rows
 * per text is counted in a hash table of fixed size. A text that finds no free slot is not limited.
 */

const SLOTS: u32 = 8192;
/** Consecutive slots that are probed for a text. */
const PROBES: u32 = 8;

/** A slot has 2^3 bytes: a text's number (32 bits, 0 in a free slot) and the number of rows with the text (32 bits). */
const SLOT_BITS: u32 = 3;
const slots = memory.data((SLOTS + PROBES) << SLOT_BITS, 16);

let maxPerText: u32 = u32.MAX_VALUE;

/** True if the current search skipped a row because its text had reached `maxPerText`. */
export let hasSkippedTexts: bool = false;

/** Sets the number of rows of every text to 0, and the maximum rows per text to `limit`. */
export function resetTextCounts(limit: u32): void {
  maxPerText = limit;
  hasSkippedTexts = false;
  if (limit !== u32.MAX_VALUE) memory.fill(slots, 0, (SLOTS + PROBES) << SLOT_BITS);
}

/**
 * Returns whether a text has reached the maximum number of rows; if not, adds one row to the text's count. Number 0
 * means that a row's text has no terms; such rows are not limited.
 */
export function isTextLimitReached(text: u32): bool {
  if (maxPerText === u32.MAX_VALUE || text === 0) return false;
  for (let probe: u32 = 0; probe < PROBES; probe++) {
    const slot = slots + (((text & (SLOTS - 1)) + probe) << SLOT_BITS);
    const found = load<u32>(slot);
    if (found !== 0 && found !== text) continue;
    const count = load<u32>(slot, 4);
    if (count >= maxPerText) return (hasSkippedTexts = true);
    store<u32>(slot, text);
    store<u32>(slot, count + 1, 4);
    return false;
  }
  return false;
}
