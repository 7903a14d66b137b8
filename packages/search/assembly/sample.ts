import { HEAP_ITEM_BYTES, pushToHeap, sortHeap } from './heap';
import { COUNTED, get, rowCount, TEXT, VECTORS } from './rows';
import { isAllowed, isAllowedAt } from './scope';
import { getSmallScopeRow, isSmallScope, smallScopeCount } from './small-scope';
import { mix } from './table';

/**
 * Number of different places in the random order of texts: the largest for which a 32-bit float represents every place.
 */
const PLACES: u64 = 1 << 24;

/**
 * Writes rows in scope that have COUNTED 1 and vectors to `heap`, one row per text, and returns the number of rows. The
 * rows are a random sample of the texts: the first `limit` texts in the order of their hashes (bottom-k sampling, Cohen
 * and Kaplan 2007, "Summarizing data using bottom-k sketches").
 */
export function sampleTexts(limit: u32, heap: usize): u32 {
  let size: u32 = 0;
  const count = isSmallScope ? smallScopeCount : rowCount;
  for (let i: u32 = 0; i < count; i++) {
    const row = isSmallScope ? getSmallScopeRow(i) : i;
    if (get<u8>(row, COUNTED) === 0 || get<u16>(row, VECTORS) === 0) continue;
    if (!(isSmallScope ? isAllowedAt(i) : isAllowed(row))) continue;
    const place = (mix(get<u32>(row, TEXT), 0) & (PLACES - 1)) as f32;
    if (!hasPlace(heap, size, limit, place)) size = pushToHeap(heap, size, limit, row, place);
  }
  sortHeap(heap, size);
  return size;
}

/** Returns whether a row with the place is in the heap, or would not be added because the heap is full. */
function hasPlace(heap: usize, size: u32, limit: u32, place: f32): bool {
  if (size === limit && place <= load<f32>(heap, 4)) return true;
  for (let i: u32 = 0; i < size; i++) if (load<f32>(heap + i * HEAP_ITEM_BYTES, 4) === place) return true;
  return false;
}
