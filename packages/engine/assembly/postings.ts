import { firstRowFrom } from './gallop';
import { allocate, full, release, reserve } from './memory';
import { get, LIVE } from './rows';

/*
 * A list of postings for each term: rows in ascending order, each with the term's frequency in it. A list is a chain
 * of chunks, each twice as large as the one before up to 4 KiB, so that a term that occurs once takes 16 bytes and a
 * list wastes little.
 *
 * A posting is a row (24 bits) and a frequency (8 bits, saturating). A chunk is the address of the next, how many
 * bytes of postings it holds (16 bits) and can hold (16 bits), and the postings. Of the last chunk of a list, where the
 * next posting goes is kept with the term, so that adding one reads no chunk.
 */

const POSTING_BYTES: u32 = 4;
const FREQUENCY_BITS: u32 = 8;
const CHUNK_HEAD: usize = 8;
const FIRST_CHUNK_BYTES: usize = 16;
const MAX_CHUNK_BYTES: usize = 4096;

/**
 * Of a term: its digest, the count of its postings, its first and last chunk, where the next posting goes and none
 * any more, and how many of its postings are of rows that are not counted, as of when.
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
/** Of a chunk. */
const NEXT: usize = 0;
const HELD: usize = 4;
const ROOM: usize = 6;
const PAGE_TERMS: u32 = 4096;
const PAGE_BITS: u32 = 12;
const MAX_PAGES: u32 = 8192;
const pages = memory.data(MAX_PAGES * 4, 16);

export let termCount: u32 = 0;

/** A term without postings. Traps at 32 million terms. */
export function addTerm(digest: u64): u32 {
  if (termCount === MAX_PAGES * PAGE_TERMS) full();
  const term = termCount++;
  if ((term & (PAGE_TERMS - 1)) === 0) {
    store<usize>(pages + ((term >> PAGE_BITS) << 2), reserve(TERM_BYTES * PAGE_TERMS));
  }
  store<u64>(termAt(term), digest, DIGEST);
  return term;
}

export function getDigest(term: u32): u64 {
  return load<u64>(termAt(term), DIGEST);
}

function termAt(term: u32): usize {
  return load<usize>(pages + ((term >> PAGE_BITS) << 2)) + (term & (PAGE_TERMS - 1)) * TERM_BYTES;
}

/** Number of postings, those of dead rows included that have not been swept out. */
export function postingCount(term: u32): u32 {
  return load<u32>(termAt(term), COUNT);
}

/** How many postings of a term are of rows that are not counted; holds as long as `getUncountedSince` says. */
export function uncountedPostings(term: u32): u32 {
  return load<u32>(termAt(term), UNCOUNTED);
}

/** After how many changes of what is counted they were counted; 0 where they never were, or have been swept since. */
export function getUncountedSince(term: u32): u32 {
  return load<u32>(termAt(term), AS_OF);
}

export function setUncountedPostings(term: u32, count: u32, since: u32): void {
  store<u32>(termAt(term), count, UNCOUNTED);
  store<u32>(termAt(term), since, AS_OF);
}

/** The first chunk of a list, to be walked at once: what is added later may not be seen. */
export function firstChunk(term: u32): usize {
  const at = termAt(term);
  const last = load<usize>(at, LAST);
  if (last !== 0) store<u16>(last, (load<usize>(at, WRITE) - chunkPostings(last)) as u16, HELD);
  return load<usize>(at, FIRST);
}

export function nextChunk(chunk: usize): usize {
  return load<usize>(chunk, NEXT);
}

export function chunkLength(chunk: usize): u32 {
  return (load<u16>(chunk, HELD) as u32) >> 2;
}

export function chunkPostings(chunk: usize): usize {
  return chunk + CHUNK_HEAD;
}

export function getRow(posting: u32): u32 {
  return posting >> FREQUENCY_BITS;
}

/** A posting of a row, with a frequency up to 255. */
export function toPosting(row: u32, frequency: u32): u32 {
  return (row << FREQUENCY_BITS) | frequency;
}

/** The first of some postings from a place on whose row is not before another. */
export function firstPostingFrom(postings: usize, from: u32, count: u32, row: u32): u32 {
  return firstRowFrom(postings, POSTING_BYTES, FREQUENCY_BITS, from, count, row);
}

export function getFrequency(posting: u32): u32 {
  return posting & 0xff;
}

/** Returns how often a term occurs in a row; 0 where it does not. */
export function frequencyIn(term: u32, row: u32): u32 {
  for (let chunk = firstChunk(term); chunk !== 0; chunk = nextChunk(chunk)) {
    const length = chunkLength(chunk);
    const held = firstPostingFrom(chunkPostings(chunk), 0, length, row);
    if (held === length) continue;
    const posting = load<u32>(chunkPostings(chunk) + (held << 2));
    return getRow(posting) === row ? getFrequency(posting) : 0;
  }
  return 0;
}

/** Adds a row, higher than all of the list. */
export function append(term: u32, row: u32, frequency: u32): void {
  const at = termAt(term);
  if (load<usize>(at, WRITE) === load<usize>(at, END)) addChunk(at);
  const write = load<usize>(at, WRITE);
  store<u32>(write, toPosting(row, min<u32>(frequency, 0xff)));
  store<usize>(at, write + 4, WRITE);
  store<u32>(at, load<u32>(at, COUNT) + 1, COUNT);
}

function addChunk(at: usize): void {
  const last = load<usize>(at, LAST);
  const bytes = last === 0 ? FIRST_CHUNK_BYTES : min(chunkBytes(last) * 2, MAX_CHUNK_BYTES);
  const chunk = allocate(bytes);
  store<usize>(chunk, 0, NEXT);
  store<u16>(chunk, (bytes - CHUNK_HEAD) as u16, ROOM);
  if (last === 0) store<usize>(at, chunk, FIRST);
  else {
    store<usize>(last, chunk, NEXT);
    store<u16>(last, (load<usize>(at, WRITE) - chunkPostings(last)) as u16, HELD);
  }
  store<usize>(at, chunk, LAST);
  store<usize>(at, chunkPostings(chunk), WRITE);
  store<usize>(at, chunk + bytes, END);
}

function chunkBytes(chunk: usize): usize {
  return CHUNK_HEAD + (load<u16>(chunk, ROOM) as usize);
}

/** Takes the postings of dead rows out of a list. */
export function sweep(term: u32): void {
  const at = termAt(term);
  let count: u32 = 0;
  let before: usize = 0;
  let chunk = firstChunk(term);
  while (chunk !== 0) {
    const next = nextChunk(chunk);
    const length = sweepChunk(chunk);
    count += length;
    if (length === 0) unlinkChunk(at, before, chunk);
    else before = chunk;
    chunk = next;
  }
  store<u32>(at, count, COUNT);
  store<u32>(at, 0, AS_OF);
  store<usize>(at, before, LAST);
  store<usize>(at, before === 0 ? 0 : chunkPostings(before) + (load<u16>(before, HELD) as usize), WRITE);
  store<usize>(at, before === 0 ? 0 : before + chunkBytes(before), END);
}

function sweepChunk(chunk: usize): u32 {
  const postings = chunkPostings(chunk);
  const length = chunkLength(chunk);
  let kept: u32 = 0;
  for (let i: u32 = 0; i < length; i++) {
    const posting = load<u32>(postings + (i << 2));
    if (get<u8>(getRow(posting), LIVE) === 0) continue;
    store<u32>(postings + (kept << 2), posting);
    kept++;
  }
  store<u16>(chunk, (kept << 2) as u16, HELD);
  return kept;
}

function unlinkChunk(at: usize, before: usize, chunk: usize): void {
  if (before === 0) store<usize>(at, nextChunk(chunk), FIRST);
  else store<usize>(before, nextChunk(chunk), NEXT);
  release(chunk, chunkBytes(chunk));
}
