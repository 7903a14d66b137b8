import { allocate, release } from './memory';
import { getFrequencyInRow } from './postings';
import { get, set, TERM_LIST, TERMS } from './rows';

/*
 * A forward index: the terms and labels of each row. A query with a small scope reads these lists, so that the time of
 * the query does not depend on the size of the index.
 *
 * A term of a row is its number (25 bits, enough for 32 million terms) and its frequency (7 bits). A frequency of 127
 * or more is stored as 127, and its value is read from the postings.
 */

const FREQUENCY_BITS: u32 = 7;
const MAX_FREQUENCY: u32 = (1 << FREQUENCY_BITS) - 1;

/** Allocates the list of `count` terms of a new row. */
export function addTermList(row: u32, count: u32): void {
  set<u32>(row, TERMS, count);
  if (count > 0) set<usize>(row, TERM_LIST, allocate((count as usize) << 2));
}

export function setTermOfRow(row: u32, place: u32, term: u32, frequency: u32): void {
  store<u32>(getTermOfRowAddress(row, place), (term << FREQUENCY_BITS) | min(frequency, MAX_FREQUENCY));
}

export function dropTermList(row: u32): void {
  const count = get<u32>(row, TERMS);
  if (count > 0) release(get<usize>(row, TERM_LIST), (count as usize) << 2);
  set<u32>(row, TERMS, 0);
}

/** Returns the term at a place in a row's list of `TERMS` terms. */
export function getTermOfRow(row: u32, place: u32): u32 {
  return load<u32>(getTermOfRowAddress(row, place)) >> FREQUENCY_BITS;
}

/** Returns the frequency of the term at a place in a row's list. */
export function getFrequencyOfTermInRow(row: u32, place: u32): u32 {
  const frequency = load<u32>(getTermOfRowAddress(row, place)) & MAX_FREQUENCY;
  return frequency < MAX_FREQUENCY ? frequency : getFrequencyInRow(getTermOfRow(row, place), row);
}

/** Returns whether a row has a term or label. */
export function holdsTerm(row: u32, term: u32): bool {
  const count = get<u32>(row, TERMS);
  for (let place: u32 = 0; place < count; place++) if (getTermOfRow(row, place) === term) return true;
  return false;
}

function getTermOfRowAddress(row: u32, place: u32): usize {
  return get<usize>(row, TERM_LIST) + (place << 2);
}
