/*
 * Memory of the index: blocks of a power of two bytes that can be given back, and larger regions that live as long as
 * the index. Nothing is collected; the whole module is thrown away with the index that it serves.
 */

const PAGE_BITS: usize = 16;
/** 16 MiB. */
const STEP_PAGES: usize = 256;
const MIN_CLASS: u32 = 4;
const CLASSES = 32;

/** First free block of each class, by the binary logarithm of its bytes. */
const freeBlocks = memory.data(CLASSES * 4);

let top: usize = 0;
let mostTop: usize = usize.MAX_VALUE;

/** Sets how many bytes there may be of all; at first as many as a module has, 4 GiB. */
export function limitMemory(bytes: usize): void {
  mostTop = bytes;
}

/** Whether something did not fit: then, and only then, a trap says that there is no room. */
export let outOfRoom: bool = false;

/** Traps for want of room. */
export function full(): void {
  outOfRoom = true;
  unreachable();
}

/** A region of zeros that is never given back. Traps where there is no room for it. */
export function reserve(bytes: usize): usize {
  if (top === 0) top = (__heap_base + 15) & ~15;
  const start = top;
  const end = start + ((bytes + 15) & ~15);
  // Past 4 GiB the pointer has wrapped.
  if (end < start || end > mostTop) full();
  const pages = ((end - 1) >> PAGE_BITS) + 1;
  if (pages > (memory.size() as usize)) growTo(pages);
  // Last, so that a call that traps has taken nothing.
  top = end;
  return start;
}

// Growing is dear, so it is done in large steps; the system gives memory only where it is touched.
function growTo(pages: usize): void {
  const held = memory.size() as usize;
  const enough = pages - held;
  if (memory.grow(max(enough, STEP_PAGES) as i32) < 0 && memory.grow(enough as i32) < 0) full();
}

/** A block of at least so many bytes, with whatever stood in it before. */
export function allocate(bytes: usize): usize {
  const blockClass = getClass(bytes);
  const list = freeBlocks + (blockClass << 2);
  const block = load<usize>(list);
  if (block === 0) return reserve((1 as usize) << blockClass);
  store<usize>(list, load<usize>(block));
  return block;
}

/** Gives a block back that was allocated with the same number of bytes. */
export function release(block: usize, bytes: usize): void {
  const list = freeBlocks + (getClass(bytes) << 2);
  store<usize>(block, load<usize>(list));
  store<usize>(list, block);
}

function getClass(bytes: usize): u32 {
  const needed: u32 = 32 - (clz<u32>((bytes as u32) - 1) as u32);
  return max<u32>(needed, MIN_CLASS);
}
