import { countedChanges, dampingPerTerm, maxDamping, minDamping } from './entries';
import { isTextLimitReached, pushToHeap, resetTextCounts, sortHeap } from './heap';
import { allocate, release } from './memory';
import {
  findFirstPosting,
  getChunkLength,
  getChunkPostings,
  getFirstChunk,
  getFrequency,
  getNextChunk,
  getPostingCount,
  getRow,
  getUncountedPostings,
  getUncountedSince,
  setUncountedPostings,
  toPosting,
} from './postings';
import {
  BLOCK_ROWS,
  COUNTED,
  CREATED_AT,
  get,
  getBlock,
  getBlockAt,
  inBlock,
  LENGTH,
  MATCH,
  MAX_ROWS,
  rowCount,
  set,
  TERMS,
  TEXT,
} from './rows';
import { isAllowed, isAllowedAt, memoryCount } from './scope';
import { findFirstSelected, getSelectedPlace, getSelectedRow, selectedCount } from './selection';
import { getSmallScopeRow, isSmallScope, smallScopeCount } from './small-scope';
import { mix, NONE } from './table';
import { getFrequencyOfTermInRow, getTermOfRow } from './terms-of-row';

/*
 * The words of a query. A word is one term, or several alternative terms whose postings are merged into one list. The
 * match score of every row that contains a word is computed. Rows are not skipped by score bounds (as WAND does),
 * because at the sizes that fit into one index, the bounds take longer than the scores.
 */

export const MAX_WORDS: u32 = 128;

/**
 * Bytes of a word: its term, the address of its merged postings (0 for a single term), the number of postings, and the
 * capacity of the merged list (32 bits each).
 */
const WORD_BYTES: u32 = 16;
const words = memory.data(MAX_WORDS * WORD_BYTES, 16);
export let wordCount: u32 = 0;

/** A stretch has 2^10 rows. `touched` records for each stretch whether any of its rows has a match. */
const STRETCH_BITS: u32 = 10;
const STRETCH_ROWS: u32 = 1 << STRETCH_BITS;
const touched = memory.data(MAX_ROWS >> STRETCH_BITS, 16);

export function clearWords(): void {
  for (let word: u32 = 0; word < wordCount; word++) {
    const merged = getMerged(word);
    if (merged !== 0) release(merged, getMergedBytes(load<u32>(getWordAddress(word), 12)));
  }
  wordCount = 0;
  lookupCount = 0;
  areLookupsResolved = true;
}

function getWordAddress(word: u32): usize {
  return words + word * WORD_BYTES;
}

function getTerm(word: u32): u32 {
  return load<u32>(getWordAddress(word));
}

function getMerged(word: u32): usize {
  return load<usize>(getWordAddress(word), 4);
}

function getCount(word: u32): u32 {
  return load<u32>(getWordAddress(word), 8);
}

/** Adds a word with a single term. NONE stands for a term that no row contains. */
export function addWord(term: u32): void {
  pushWord(term, 0, term === NONE ? 0 : getPostingCount(term));
}

/**
 * Adds a word with alternative terms. The terms are forms of one word, so the frequency of the word in a row is the
 * largest frequency of its terms.
 */
export function addAlternatives(terms: usize, count: u32): void {
  let total: u32 = 0;
  for (let i: u32 = 0; i < count; i++) total += getPostingCount(load<u32>(terms + (i << 2)));
  const bytes = getMergedBytes(total);
  let merged = allocate(bytes);
  let spare = allocate(bytes);
  let length: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    length = mergePostings(merged, length, load<u32>(terms + (i << 2)), spare);
    const swapped = merged;
    merged = spare;
    spare = swapped;
  }
  release(spare, bytes);
  const trimmed = allocate(getMergedBytes(length));
  memory.copy(trimmed, merged, (length as usize) << 2);
  release(merged, bytes);
  pushWord(NONE, trimmed, length);
}

/*
 * In a small scope, the words of a query are resolved together when first needed: one pass over the terms of the
 * scope's rows looks up each term in a hash table of the terms of all words.
 */

/** Bytes of a slot: a term (NONE in a free slot) and the index of its word. */
const LOOKUP_BYTES: u32 = 8;
let lookups: usize = 0;
let lookupCount: u32 = 0;
let lookupCapacity: u32 = 0;
let areLookupsResolved: bool = true;

/** Adds a word with alternative terms to a query with a small scope. */
export function addWordInSmallScope(terms: usize, count: u32): void {
  for (let i: u32 = 0; i < count; i++) addLookup(load<u32>(terms + (i << 2)));
  areLookupsResolved = false;
  pushWord(NONE, 0, 0);
}

function addLookup(term: u32): void {
  if (lookupCount === lookupCapacity) {
    const capacity = max<u32>(lookupCapacity * 2, 256);
    const larger = allocate(capacity * LOOKUP_BYTES);
    if (lookupCapacity > 0) {
      memory.copy(larger, lookups, lookupCount * LOOKUP_BYTES);
      release(lookups, lookupCapacity * LOOKUP_BYTES);
    }
    lookups = larger;
    lookupCapacity = capacity;
  }
  const at = lookups + lookupCount++ * LOOKUP_BYTES;
  store<u32>(at, term);
  store<u32>(at, wordCount, 4);
}

/** Resolves the words of a small scope, if not done yet. */
function resolveLookups(): void {
  if (areLookupsResolved) return;
  areLookupsResolved = true;
  let slots: u32 = 256;
  while (slots < lookupCount * 2) slots *= 2;
  const table = allocate(slots * LOOKUP_BYTES);
  memory.fill(table, 0xff, slots * LOOKUP_BYTES);
  for (let i: u32 = 0; i < lookupCount; i++) {
    const at = lookups + i * LOOKUP_BYTES;
    store<u64>(findFreeSlot(table, slots, load<u32>(at)), load<u64>(at));
  }
  for (let place: u32 = 0; place < smallScopeCount; place++) countMatches(table, slots, getSmallScopeRow(place));
  for (let word: u32 = 0; word < wordCount; word++) {
    const at = getWordAddress(word);
    store<u32>(at, getCount(word), 12);
    store<usize>(at, allocate(getMergedBytes(getCount(word))), 4);
    store<u32>(at, 0, 8);
  }
  for (let place: u32 = 0; place < smallScopeCount; place++) addMatches(table, slots, getSmallScopeRow(place));
  release(table, slots * LOOKUP_BYTES);
}

function getFirstSlot(slots: u32, term: u32): u32 {
  return (term * 0x9e3779b1) & (slots - 1);
}

function findFreeSlot(table: usize, slots: u32, term: u32): usize {
  let slot = getFirstSlot(slots, term);
  while (load<u32>(table + slot * LOOKUP_BYTES) !== NONE) slot = (slot + 1) & (slots - 1);
  return table + slot * LOOKUP_BYTES;
}

// A row with two terms of a word is counted twice here. `addPosting` later merges its postings into one.
function countMatches(table: usize, slots: u32, row: u32): void {
  const count = get<u32>(row, TERMS);
  for (let place: u32 = 0; place < count; place++) {
    const term = getTermOfRow(row, place);
    for (let slot = getFirstSlot(slots, term); ; slot = (slot + 1) & (slots - 1)) {
      const found = load<u32>(table + slot * LOOKUP_BYTES);
      if (found === NONE) break;
      if (found === term) addCount(load<u32>(table + slot * LOOKUP_BYTES, 4));
    }
  }
}

function addCount(word: u32): void {
  store<u32>(getWordAddress(word), getCount(word) + 1, 8);
}

function addMatches(table: usize, slots: u32, row: u32): void {
  const count = get<u32>(row, TERMS);
  for (let place: u32 = 0; place < count; place++) {
    const term = getTermOfRow(row, place);
    for (let slot = getFirstSlot(slots, term); ; slot = (slot + 1) & (slots - 1)) {
      const found = load<u32>(table + slot * LOOKUP_BYTES);
      if (found === NONE) break;
      if (found !== term) continue;
      addPosting(load<u32>(table + slot * LOOKUP_BYTES, 4), toPosting(row, getFrequencyOfTermInRow(row, place)));
    }
  }
}

function addPosting(word: u32, posting: u32): void {
  const last = getMerged(word) + (((getCount(word) - 1) as usize) << 2);
  if (getCount(word) > 0 && getRow(load<u32>(last)) === getRow(posting)) {
    store<u32>(last, max<u32>(load<u32>(last), posting));
    return;
  }
  store<u32>(last, posting, 4);
  addCount(word);
}

/** A term's cached number is used until the changes of COUNTED flags exceed 1/`STALE_SHARE` of the term's postings. */
const STALE_SHARE: u32 = 16;

/**
 * Returns the approximate document frequency of a word with alternative terms. A memory with two of the terms counts
 * twice, and the latest changes may be missing. The time does not depend on the number of postings, apart from
 * recounts.
 */
export function estimateDocumentFrequency(terms: usize, count: u32): u32 {
  let sum: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const term = load<u32>(terms + (i << 2));
    const staleBy = countedChanges - getUncountedSince(term);
    if (staleBy * STALE_SHARE > getPostingCount(term)) setUncountedPostings(term, countUncounted(term), countedChanges);
    sum += getPostingCount(term) - min(getUncountedPostings(term), getPostingCount(term));
  }
  return min(sum, memoryCount);
}

function pushWord(term: u32, merged: usize, count: u32): void {
  const at = getWordAddress(wordCount++);
  store<u32>(at, term);
  store<usize>(at, merged, 4);
  store<u32>(at, count, 8);
  store<u32>(at, count, 12);
}

/** Returns the bytes to allocate for a list of `count` postings: at least 4, because 0 postings are possible. */
function getMergedBytes(count: u32): usize {
  return max<usize>((count as usize) << 2, 4);
}

function mergePostings(list: usize, length: u32, term: u32, into: usize): u32 {
  let read: u32 = 0;
  let written: u32 = 0;
  for (let chunk = getFirstChunk(term); chunk !== 0; chunk = getNextChunk(chunk)) {
    const postings = getChunkPostings(chunk);
    const chunkEnd = getChunkLength(chunk);
    for (let i: u32 = 0; i < chunkEnd; i++) {
      let posting = load<u32>(postings + (i << 2));
      while (read < length && getRow(load<u32>(list + (read << 2))) < getRow(posting)) {
        store<u32>(into + (written++ << 2), load<u32>(list + (read++ << 2)));
      }
      if (read < length && getRow(load<u32>(list + (read << 2))) === getRow(posting)) {
        posting = max<u32>(load<u32>(list + (read++ << 2)), posting);
      }
      store<u32>(into + (written++ << 2), posting);
    }
  }
  while (read < length) store<u32>(into + (written++ << 2), load<u32>(list + (read++ << 2)));
  return written;
}

/** Returns the number of rows with COUNTED 1 that contain a word. */
export function getDocumentFrequency(word: u32): u32 {
  const merged = getMerged(word);
  if (merged !== 0) return countCounted(merged, getCount(word));
  const term = getTerm(word);
  if (term === NONE) return 0;
  // The cached number changes only with COUNTED flags: a new row has COUNTED 1, so its postings do not change the
  // number of postings in rows with COUNTED 0.
  if (getUncountedSince(term) !== countedChanges) setUncountedPostings(term, countUncounted(term), countedChanges);
  return getPostingCount(term) - getUncountedPostings(term);
}

function countUncounted(term: u32): u32 {
  let counted: u32 = 0;
  for (let chunk = getFirstChunk(term); chunk !== 0; chunk = getNextChunk(chunk)) {
    counted += countCounted(getChunkPostings(chunk), getChunkLength(chunk));
  }
  return getPostingCount(term) - counted;
}

function countCounted(postings: usize, length: u32): u32 {
  let counted: u32 = 0;
  for (let i: u32 = 0; i < length; i++) counted += get<u8>(getRow(load<u32>(postings + (i << 2))), COUNTED);
  return counted;
}

/**
 * Returns the number of rows in scope with COUNTED 1 that contain a word, or `limit` if there are more. Stops at the
 * limit, since an everyday word has as many postings as there are rows.
 */
export function countInScope(word: u32, limit: u32): u32 {
  resolveLookups();
  const merged = getMerged(word);
  if (merged !== 0) return countAllowed(merged, getCount(word), limit);
  if (getTerm(word) === NONE) return 0;
  let counted: u32 = 0;
  for (let chunk = getFirstChunk(getTerm(word)); chunk !== 0 && counted < limit; chunk = getNextChunk(chunk)) {
    counted += countAllowed(getChunkPostings(chunk), getChunkLength(chunk), limit - counted);
  }
  return counted;
}

function countAllowed(postings: usize, length: u32, limit: u32): u32 {
  let counted: u32 = 0;
  for (let i: u32 = 0; i < length && counted < limit; i++) {
    const row = getRow(load<u32>(postings + (i << 2)));
    if (isAllowed(row)) counted += get<u8>(row, COUNTED);
  }
  return counted;
}

/** Adds `share * f / (f + damping)` to the match of every row that contains a word with frequency f. */
export function matchWord(word: u32, share: f32): void {
  resolveLookups();
  const merged = getMerged(word);
  if (merged !== 0) matchPostings(merged, getCount(word), share);
  else if (getTerm(word) !== NONE) {
    for (let chunk = getFirstChunk(getTerm(word)); chunk !== 0; chunk = getNextChunk(chunk)) {
      matchPostings(getChunkPostings(chunk), getChunkLength(chunk), share);
    }
  }
}

function matchPostings(postings: usize, length: u32, share: f32): void {
  for (let i: u32 = 0; i < length; i++) {
    const posting = load<u32>(postings + (i << 2));
    const row = getRow(posting);
    const frequency: f32 = getFrequency(posting) as f32;
    const block = getBlock(row);
    const place = inBlock(row) << 2;
    // Lengths are below 2^31, and converting a signed integer takes one instruction.
    const length: f32 = load<i32>(block + LENGTH + place) as f32;
    const damping: f32 = min<f32>(maxDamping, minDamping + dampingPerTerm * length);
    const match = block + MATCH + place;
    store<f32>(match, load<f32>(match) + (share * frequency) / (frequency + damping));
    store<u8>(touched + (row >> STRETCH_BITS), 1);
  }
}

/** Adds a match to every row in scope created in a time range, `until` excluded. */
export function matchCreated(from: f64, until: f64, match: f32): void {
  if (isSmallScope) matchCreatedInSmallScope(from, until, match);
  else matchAllCreated(from, until, match);
}

function matchCreatedInSmallScope(from: f64, until: f64, match: f32): void {
  for (let place: u32 = 0; place < smallScopeCount; place++) {
    const row = getSmallScopeRow(place);
    const createdAt = get<f64>(row, CREATED_AT);
    if (createdAt >= from && createdAt < until && isAllowedAt(place)) addMatch(row, match);
  }
}

function matchAllCreated(from: f64, until: f64, match: f32): void {
  const blocks = (rowCount + BLOCK_ROWS - 1) / BLOCK_ROWS;
  for (let number: u32 = 0; number < blocks; number++) {
    const block = getBlockAt(number);
    for (let place: u32 = 0; place < BLOCK_ROWS; place++) {
      const createdAt = load<f64>(block + CREATED_AT + (place << 3));
      if (createdAt < from || createdAt >= until) continue;
      const row = number * BLOCK_ROWS + place;
      if (!isAllowed(row)) continue;
      addMatch(row, match);
    }
  }
}

function addMatch(row: u32, match: f32): void {
  set<f32>(row, MATCH, get<f32>(row, MATCH) + match);
  store<u8>(touched + (row >> STRETCH_BITS), 1);
}

/**
 * Writes the `limit` best matching rows in scope and their matches to `heap`, best first, clears all matches, and
 * returns the number of rows. Of rows with equal texts and matches, at most `maxPerText` are included, the newest rows
 * first.
 */
export function takeBestMatches(limit: u32, maxPerText: u32, heap: usize): u32 {
  resetTextCounts(maxPerText);
  const size = isSmallScope ? takeFromSmallScope(limit, heap) : takeAll(limit, heap);
  sortHeap(heap, size);
  return size;
}

// Newest first, so that the limit per text leaves the newest rows of a text.
function takeFromSmallScope(limit: u32, heap: usize): u32 {
  let size: u32 = 0;
  for (let left = smallScopeCount; left > 0; left--) {
    const row = getSmallScopeRow(left - 1);
    const match = get<f32>(row, MATCH);
    if (match <= 0) continue;
    set<f32>(row, MATCH, 0);
    store<u8>(touched + (row >> STRETCH_BITS), 0);
    if (isAllowedAt(left - 1) && !isRepeatedMatch(row, match)) size = pushToHeap(heap, size, limit, row, match);
  }
  return size;
}

function takeAll(limit: u32, heap: usize): u32 {
  let size: u32 = 0;
  const stretches = (rowCount + STRETCH_ROWS - 1) >> STRETCH_BITS;
  // Newest first, so that the limit per text leaves the newest rows of a text.
  for (let left = stretches; left > 0; left--) {
    const stretch = left - 1;
    if (load<u8>(touched + stretch) === 0) continue;
    store<u8>(touched + stretch, 0);
    size = takeStretch(stretch, limit, heap, size);
  }
  return size;
}

function takeStretch(stretch: u32, limit: u32, heap: usize, filled: u32): u32 {
  let size = filled;
  const first = stretch << STRETCH_BITS;
  const matches = getBlockAt(first / BLOCK_ROWS) + MATCH + (inBlock(first) << 2);
  for (let end = STRETCH_ROWS; end > 0; end -= 4) {
    const place = end - 4;
    const four = v128.load(matches + (place << 2));
    const threshold: f32 = size < limit ? f32.MIN_VALUE : load<f32>(heap, 4);
    if (!v128.any_true(f32x4.ge(four, f32x4.splat(threshold)))) continue;
    for (let above: u32 = 4; above > 0; above--) {
      const row = first + place + above - 1;
      const match = get<f32>(row, MATCH);
      if (match <= 0 || (size === limit && match < load<f32>(heap, 4)) || !isAllowed(row)) continue;
      if (!isRepeatedMatch(row, match)) size = pushToHeap(heap, size, limit, row, match);
    }
  }
  memory.fill(matches, 0, STRETCH_ROWS << 2);
  return size;
}

/** Returns whether the limit for rows with the same text and match is reached; if not, counts the row. */
function isRepeatedMatch(row: u32, match: f32): bool {
  const text = get<u32>(row, TEXT);
  return isTextLimitReached(text === 0 ? 0 : (mix(text, reinterpret<u32>(match)) as u32));
}

/**
 * Writes the frequency of a word in each selected row that contains the word, as 16-bit numbers that are `stride` bytes
 * apart.
 */
export function writeFrequencies(word: u32, into: usize, stride: u32): void {
  resolveLookups();
  const merged = getMerged(word);
  if (merged !== 0) findFrequencies(merged, getCount(word), 0, into, stride);
  else if (getTerm(word) !== NONE) {
    let next: u32 = 0;
    for (let chunk = getFirstChunk(getTerm(word)); chunk !== 0 && next < selectedCount; chunk = getNextChunk(chunk)) {
      next = findFrequencies(getChunkPostings(chunk), getChunkLength(chunk), next, into, stride);
    }
  }
}

// Gallops in whichever list is behind, so that neither a long postings list nor a long selection is read in full
// (Demaine, López-Ortiz and Munro 2000, "Adaptive set intersections").
/**
 * Writes the frequencies of the selected rows from index `next` on that occur in a list of postings. Returns the first
 * index whose row lies beyond the list.
 */
function findFrequencies(postings: usize, length: u32, next: u32, into: usize, stride: u32): u32 {
  let at = next;
  let postingIndex: u32 = 0;
  while (at < selectedCount && postingIndex < length) {
    const row = getSelectedRow(at);
    const posting = load<u32>(postings + (postingIndex << 2));
    if (getRow(posting) < row) postingIndex = findFirstPosting(postings, postingIndex + 1, length, row);
    else if (getRow(posting) > row) at = findFirstSelected(at + 1, getRow(posting));
    else store<u16>(into + getSelectedPlace(at++) * stride, getFrequency(posting) as u16);
  }
  return at;
}
