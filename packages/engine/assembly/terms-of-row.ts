import { allocate, release } from './memory';
import { frequencyIn } from './postings';
import { get, set, TERM_LIST, TERMS } from './rows';

/*
 * The terms and labels of each row, in a list of its own: a question about few rows reads these, and takes as long as they
 * are many, whatever else the index holds.
 *
 * A term of a row is its number (25 bits, as there are 32 million at most) and how often it occurs (7 bits, of which the
 * largest stands for any more too, which are then read from its postings).
 */

const FREQUENCY_BITS: u32 = 7;
const MAX_FREQUENCY: u32 = (1 << FREQUENCY_BITS) - 1;

/** Makes room for the terms of a new row. */
export function addTermList(row: u32, count: u32): void {
  set<u32>(row, TERMS, count);
  if (count > 0) set<usize>(row, TERM_LIST, allocate((count as usize) << 2));
}

export function setTermOfRow(row: u32, place: u32, term: u32, frequency: u32): void {
  store<u32>(termAddress(row, place), (term << FREQUENCY_BITS) | min(frequency, MAX_FREQUENCY));
}

export function dropTermList(row: u32): void {
  const count = get<u32>(row, TERMS);
  if (count > 0) release(get<usize>(row, TERM_LIST), (count as usize) << 2);
  set<u32>(row, TERMS, 0);
}

/** Returns the term at a place among those of a row, which has `TERMS` of them. */
export function termOfRow(row: u32, place: u32): u32 {
  return load<u32>(termAddress(row, place)) >> FREQUENCY_BITS;
}

/** Returns how often that term occurs in the row. */
export function frequencyOfTerm(row: u32, place: u32): u32 {
  const frequency = load<u32>(termAddress(row, place)) & MAX_FREQUENCY;
  return frequency < MAX_FREQUENCY ? frequency : frequencyIn(termOfRow(row, place), row);
}

/** Whether a row holds a term or label. */
export function holdsTerm(row: u32, term: u32): bool {
  const count = get<u32>(row, TERMS);
  for (let place: u32 = 0; place < count; place++) if (termOfRow(row, place) === term) return true;
  return false;
}

function termAddress(row: u32, place: u32): usize {
  return get<usize>(row, TERM_LIST) + (place << 2);
}
