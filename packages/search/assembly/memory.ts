/*
 * Allocates the index's memory: blocks of a power of two bytes, which can be released, and regions, which live as long
 * as the index. There is no garbage collection; the whole module instance is discarded with its index.
 */

const PAGE_BITS: usize = 16;
/** Number of 64 KiB pages by which the memory grows at a time, if available: 16 MiB. */
const STEP_PAGES: usize = 256;
const MIN_CLASS: u32 = 4;
const CLASSES = 32;

/** Heads of the free lists, one per size class. Class n has blocks of 2^n bytes. */
const freeBlocks = memory.data(CLASSES * 4);

let top: usize = 0;
let maxTop: usize = usize.MAX_VALUE;

/** Sets the maximum total memory, in bytes. The default is the limit of a WebAssembly module, 4 GiB. */
export function limitMemory(bytes: usize): void {
  maxTop = bytes;
}

/** True if an allocation has failed. The host reads the flag after a trap, to detect that memory is exhausted. */
export let isOutOfMemory: bool = false;

/** Sets `isOutOfMemory` and traps. */
export function trapOutOfMemory(): void {
  isOutOfMemory = true;
  unreachable();
}

/** Returns a zeroed region that is never released. Traps if memory is exhausted. */
export function reserve(bytes: usize): usize {
  if (top === 0) top = (__heap_base + 15) & ~15;
  const start = top;
  const end = start + ((bytes + 15) & ~15);
  // The end is less than the start if the address wrapped around at 4 GiB.
  if (end < start || end > maxTop) trapOutOfMemory();
  const pages = ((end - 1) >> PAGE_BITS) + 1;
  if (pages > (memory.size() as usize)) growTo(pages);
  // Set last, so that a call that traps allocates nothing.
  top = end;
  return start;
}

// Grows in large steps, because each growth is expensive. Unused pages take no physical memory, because the operating
// system commits a page when it is first written.
function growTo(pages: usize): void {
  const currentPages = memory.size() as usize;
  const missingPages = pages - currentPages;
  if (memory.grow(max(missingPages, STEP_PAGES) as i32) < 0 && memory.grow(missingPages as i32) < 0) trapOutOfMemory();
}

/** Returns a block of at least `bytes` bytes with undefined contents. */
export function allocate(bytes: usize): usize {
  const blockClass = getClass(bytes);
  const list = freeBlocks + (blockClass << 2);
  const block = load<usize>(list);
  if (block === 0) return reserve((1 as usize) << blockClass);
  store<usize>(list, load<usize>(block));
  return block;
}

/** Releases a block that was allocated with the same size. */
export function release(block: usize, bytes: usize): void {
  const list = freeBlocks + (getClass(bytes) << 2);
  store<usize>(block, load<usize>(list));
  store<usize>(list, block);
}

function getClass(bytes: usize): u32 {
  const needed: u32 = 32 - (clz<u32>((bytes as u32) - 1) as u32);
  return max<u32>(needed, MIN_CLASS);
}
