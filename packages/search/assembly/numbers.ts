import { reserve } from './memory';

/* Growable lists of 32-bit numbers. A list grows by allocating another page, so that its numbers are never moved. */

const PAGE_NUMBERS: u32 = 16384;
const PAGE_BITS: u32 = 14;
const MAX_PAGES: u32 = 1024;
/** Bytes of a list's page table. */
export const LIST_BYTES: u32 = MAX_PAGES * 4;

/** Returns the address of the number at index `place`. The number must have been added before. */
export function getNumberAddress(pages: usize, place: u32): usize {
  return load<usize>(pages + ((place >> PAGE_BITS) << 2)) + ((place & (PAGE_NUMBERS - 1)) << 2);
}

/** Writes a number at index `place`: the end of the list, or an earlier index whose number is overwritten. */
export function addNumber(pages: usize, place: u32, number: u32): void {
  const page = pages + ((place >> PAGE_BITS) << 2);
  if (load<usize>(page) === 0) store<usize>(page, reserve(PAGE_NUMBERS << 2));
  store<u32>(getNumberAddress(pages, place), number);
}
