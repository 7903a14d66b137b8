import { reserve } from './memory';

/* Lists of numbers in pages, which grow without being moved. */

const PAGE_NUMBERS: u32 = 16384;
const PAGE_BITS: u32 = 14;
const MAX_PAGES: u32 = 1024;
/** Size of a list's page table. */
export const LIST_BYTES: u32 = MAX_PAGES * 4;

/** Returns the address of a number that has been added. */
export function getNumberAddress(pages: usize, place: u32): usize {
  return load<usize>(pages + ((place >> PAGE_BITS) << 2)) + ((place & (PAGE_NUMBERS - 1)) << 2);
}

/** Appends a number, or overwrites the one at an earlier place. */
export function addNumber(pages: usize, place: u32, number: u32): void {
  const page = pages + ((place >> PAGE_BITS) << 2);
  if (load<usize>(page) === 0) store<usize>(page, reserve(PAGE_NUMBERS << 2));
  store<u32>(getNumberAddress(pages, place), number);
}
