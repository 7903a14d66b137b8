import { findFirstRow } from './gallop';
import { allocate, release, reserve, trapOutOfMemory } from './memory';
import { get, LIVE } from './rows';

/*
 * The postings list of each term: rows in ascending order, each with the term's frequency. A list is a chain of chunks,
 * each twice as large as the previous one, up to 4 KiB. The list of a term in one or two rows takes 16 bytes, and long
 * lists waste little.
 *
 * A posting is a row (24 bits) and a frequency (8 bits, saturating). A chunk is the address of the next chunk, the size
 * of its postings in bytes (16 bits), its capacity in bytes (16 bits), and the postings. The write position of a list's
 * last chunk is stored with the term, so that appending reads no chunk.
 */

const POSTING_BYTES: u32 = 4;
const FREQUENCY_BITS: u32 = 8;
const CHUNK_HEAD: usize = 8;
const FIRST_CHUNK_BYTES: usize = 16;
const MAX_CHUNK_BYTES: usize = 4096;

/**
 * Offsets of a term's fields: digest, number of postings, first and last chunk, write position in the last chunk, end
 * of the last chunk, cached number of postings in rows with COUNTED 0, and value of `countedChanges` when that number
 * was cached.
 */
const DIGEST: usize = 0;
const COUNT: usize = 8;
const FIRST: usize = 12;
const LAST: usize = 16;
const WRITE: usize = 20;
const END: usize = 24;
const UNCOUNTED: usize = 28;
const AS_OF: usize = 32;
const TERM_BYTES: u32 = 40;
/** Offsets of a chunk's fields. */
const NEXT: usize = 0;
const USED: usize = 4;
const CAPACITY: usize = 6;
const PAGE_TERMS: u32 = 4096;
const PAGE_BITS: u32 = 12;
const MAX_PAGES: u32 = 8192;
const pages = memory.data(MAX_PAGES * 4, 16);

export let termCount: u32 = 0;

/** Adds a term without postings. Traps at 2^25 terms. */
export function addTerm(digest: u64): u32 {
  if (termCount === MAX_PAGES * PAGE_TERMS) trapOutOfMemory();
  const term = termCount++;
  if ((term & (PAGE_TERMS - 1)) === 0) {
    store<usize>(pages + ((term >> PAGE_BITS) << 2), reserve(TERM_BYTES * PAGE_TERMS));
  }
  store<u64>(getTermAddress(term), digest, DIGEST);
  return term;
}

export function getDigest(term: u32): u64 {
  return load<u64>(getTermAddress(term), DIGEST);
}

function getTermAddress(term: u32): usize {
  return load<usize>(pages + ((term >> PAGE_BITS) << 2)) + (term & (PAGE_TERMS - 1)) * TERM_BYTES;
}

/** Returns the number of postings, including postings of removed rows that are not swept yet. */
export function getPostingCount(term: u32): u32 {
  return load<u32>(getTermAddress(term), COUNT);
}

/** Returns the cached number of postings in rows with COUNTED 0. See `getUncountedSince`. */
export function getUncountedPostings(term: u32): u32 {
  return load<u32>(getTermAddress(term), UNCOUNTED);
}

/**
 * Returns the value of `countedChanges` when the number of `getUncountedPostings` was cached; 0 if no number was cached
 * since the list was created or swept.
 */
export function getUncountedSince(term: u32): u32 {
  return load<u32>(getTermAddress(term), AS_OF);
}

export function setUncountedPostings(term: u32, count: u32, since: u32): void {
  store<u32>(getTermAddress(term), count, UNCOUNTED);
  store<u32>(getTermAddress(term), since, AS_OF);
}

/** Returns the first chunk of a list. A walk over the chunks may miss postings that are appended after this call. */
export function getFirstChunk(term: u32): usize {
  const at = getTermAddress(term);
  const last = load<usize>(at, LAST);
  if (last !== 0) store<u16>(last, (load<usize>(at, WRITE) - getChunkPostings(last)) as u16, USED);
  return load<usize>(at, FIRST);
}

export function getNextChunk(chunk: usize): usize {
  return load<usize>(chunk, NEXT);
}

export function getChunkLength(chunk: usize): u32 {
  return (load<u16>(chunk, USED) as u32) >> 2;
}

export function getChunkPostings(chunk: usize): usize {
  return chunk + CHUNK_HEAD;
}

export function getRow(posting: u32): u32 {
  return posting >> FREQUENCY_BITS;
}

/** Packs a posting. The frequency is at most 255. */
export function toPosting(row: u32, frequency: u32): u32 {
  return (row << FREQUENCY_BITS) | frequency;
}

/** Returns the first index, starting at `from`, of a posting whose row is at least `row`; `count` if none is. */
export function findFirstPosting(postings: usize, from: u32, count: u32, row: u32): u32 {
  return findFirstRow(postings, POSTING_BYTES, FREQUENCY_BITS, from, count, row);
}

export function getFrequency(posting: u32): u32 {
  return posting & 0xff;
}

/** Returns the frequency of a term in a row, at most 255; 0 if the term does not occur in the row. */
export function getFrequencyInRow(term: u32, row: u32): u32 {
  for (let chunk = getFirstChunk(term); chunk !== 0; chunk = getNextChunk(chunk)) {
    const length = getChunkLength(chunk);
    const found = findFirstPosting(getChunkPostings(chunk), 0, length, row);
    if (found === length) continue;
    const posting = load<u32>(getChunkPostings(chunk) + (found << 2));
    return getRow(posting) === row ? getFrequency(posting) : 0;
  }
  return 0;
}

/** Appends a posting to the list of a term. `row` must be higher than all rows in the list. */
export function append(term: u32, row: u32, frequency: u32): void {
  const at = getTermAddress(term);
  if (load<usize>(at, WRITE) === load<usize>(at, END)) addChunk(at);
  const write = load<usize>(at, WRITE);
  store<u32>(write, toPosting(row, min<u32>(frequency, 0xff)));
  store<usize>(at, write + 4, WRITE);
  store<u32>(at, load<u32>(at, COUNT) + 1, COUNT);
}

function addChunk(at: usize): void {
  const last = load<usize>(at, LAST);
  const bytes = last === 0 ? FIRST_CHUNK_BYTES : min(getChunkBytes(last) * 2, MAX_CHUNK_BYTES);
  const chunk = allocate(bytes);
  store<usize>(chunk, 0, NEXT);
  store<u16>(chunk, (bytes - CHUNK_HEAD) as u16, CAPACITY);
  if (last === 0) store<usize>(at, chunk, FIRST);
  else {
    store<usize>(last, chunk, NEXT);
    store<u16>(last, (load<usize>(at, WRITE) - getChunkPostings(last)) as u16, USED);
  }
  store<usize>(at, chunk, LAST);
  store<usize>(at, getChunkPostings(chunk), WRITE);
  store<usize>(at, chunk + bytes, END);
}

function getChunkBytes(chunk: usize): usize {
  return CHUNK_HEAD + (load<u16>(chunk, CAPACITY) as usize);
}

/** Removes the postings of removed rows from a list. */
export function sweep(term: u32): void {
  const at = getTermAddress(term);
  let count: u32 = 0;
  let before: usize = 0;
  let chunk = getFirstChunk(term);
  while (chunk !== 0) {
    const next = getNextChunk(chunk);
    const length = sweepChunk(chunk);
    count += length;
    if (length === 0) unlinkChunk(at, before, chunk);
    else before = chunk;
    chunk = next;
  }
  store<u32>(at, count, COUNT);
  store<u32>(at, 0, AS_OF);
  store<usize>(at, before, LAST);
  store<usize>(at, before === 0 ? 0 : getChunkPostings(before) + (load<u16>(before, USED) as usize), WRITE);
  store<usize>(at, before === 0 ? 0 : before + getChunkBytes(before), END);
}

function sweepChunk(chunk: usize): u32 {
  const postings = getChunkPostings(chunk);
  const length = getChunkLength(chunk);
  let keptCount: u32 = 0;
  for (let i: u32 = 0; i < length; i++) {
    const posting = load<u32>(postings + (i << 2));
    if (get<u8>(getRow(posting), LIVE) === 0) continue;
    store<u32>(postings + (keptCount << 2), posting);
    keptCount++;
  }
  store<u16>(chunk, (keptCount << 2) as u16, USED);
  return keptCount;
}

function unlinkChunk(at: usize, before: usize, chunk: usize): void {
  if (before === 0) store<usize>(at, getNextChunk(chunk), FIRST);
  else store<usize>(before, getNextChunk(chunk), NEXT);
  release(chunk, getChunkBytes(chunk));
}
