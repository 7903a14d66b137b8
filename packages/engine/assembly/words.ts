import { beginCrowd, isCrowdedOut, keepBest, sortBest } from './best';
import { countedChanges, dampingPerTerm, leastDamping, mostDamping } from './entries';
import { fewCount, fewRow, isFew } from './few';
import { allocate, release } from './memory';
import {
  chunkLength,
  chunkPostings,
  firstChunk,
  firstPostingFrom,
  getFrequency,
  getRow,
  getUncountedSince,
  nextChunk,
  postingCount,
  setUncountedPostings,
  toPosting,
  uncountedPostings,
} from './postings';
import {
  BLOCK_ROWS,
  blockAt,
  COUNTED,
  CREATED_AT,
  get,
  getBlock,
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
import { firstSelectedFrom, selectedCount, selectedPlace, selectedRow } from './selection';
import { mix, NONE } from './table';
import { frequencyOfTerm, termOfRow } from './terms-of-row';

/*
 * The words of a query. A word is one term or several that mean the same to it; the lists of several are merged into
 * one. The word match of every row that holds a word is computed, with no bound or skipping: at these sizes that is
 * faster than telling which rows need not be looked at.
 */

export const MAX_WORDS: u32 = 128;

/** A word's term, or its merged postings, how many there are, and for how many there is room. */
const WORD_BYTES: u32 = 16;
const words = memory.data(MAX_WORDS * WORD_BYTES, 16);
export let wordCount: u32 = 0;

/** Rows of a stretch that is looked at for matches as a whole. */
const STRETCH_BITS: u32 = 10;
const STRETCH_ROWS: u32 = 1 << STRETCH_BITS;
const touched = memory.data(MAX_ROWS >> STRETCH_BITS, 16);

export function clearWords(): void {
  for (let word: u32 = 0; word < wordCount; word++) {
    const merged = getMerged(word);
    if (merged !== 0) release(merged, mergedBytes(load<u32>(wordAt(word), 12)));
  }
  wordCount = 0;
  soughtCount = 0;
  areFound = true;
}

function wordAt(word: u32): usize {
  return words + word * WORD_BYTES;
}

function getTerm(word: u32): u32 {
  return load<u32>(wordAt(word));
}

function getMerged(word: u32): usize {
  return load<usize>(wordAt(word), 4);
}

function getCount(word: u32): u32 {
  return load<u32>(wordAt(word), 8);
}

/** Adds a word that is a single term, or NONE, which no row holds. */
export function addWord(term: u32): void {
  pushWord(term, 0, term === NONE ? 0 : postingCount(term));
}

/** Adds a word that is any of several terms: forms of one word, so that its frequency is the largest of theirs. */
export function addAlternatives(terms: usize, count: u32): void {
  let total: u32 = 0;
  for (let i: u32 = 0; i < count; i++) total += postingCount(load<u32>(terms + (i << 2)));
  const bytes = mergedBytes(total);
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
  const kept = allocate(mergedBytes(length));
  memory.copy(kept, merged, (length as usize) << 2);
  release(merged, bytes);
  pushWord(NONE, kept, length);
}

/*
 * The words of a question about few rows are looked for together, when they are first needed: in one way through the terms
 * of these rows, in which each term is looked up among those of all words.
 */

/** A term and the word that it stands for, or NONE in a slot that is free. */
const SOUGHT_BYTES: u32 = 8;
let sought: usize = 0;
let soughtCount: u32 = 0;
let soughtRoom: u32 = 0;
let areFound: bool = true;

/** Adds a word of the few rows that a question is about, any of several terms. */
export function addWordOfFew(terms: usize, count: u32): void {
  for (let i: u32 = 0; i < count; i++) addSought(load<u32>(terms + (i << 2)));
  areFound = false;
  pushWord(NONE, 0, 0);
}

function addSought(term: u32): void {
  if (soughtCount === soughtRoom) {
    const room = max<u32>(soughtRoom * 2, 256);
    const larger = allocate(room * SOUGHT_BYTES);
    if (soughtRoom > 0) {
      memory.copy(larger, sought, soughtCount * SOUGHT_BYTES);
      release(sought, soughtRoom * SOUGHT_BYTES);
    }
    sought = larger;
    soughtRoom = room;
  }
  const at = sought + soughtCount++ * SOUGHT_BYTES;
  store<u32>(at, term);
  store<u32>(at, wordCount, 4);
}

/** Finds the words of few rows, if that has not been done. */
function findWords(): void {
  if (areFound) return;
  areFound = true;
  let slots: u32 = 256;
  while (slots < soughtCount * 2) slots *= 2;
  const table = allocate(slots * SOUGHT_BYTES);
  memory.fill(table, 0xff, slots * SOUGHT_BYTES);
  for (let i: u32 = 0; i < soughtCount; i++) {
    const at = sought + i * SOUGHT_BYTES;
    store<u64>(freeSlot(table, slots, load<u32>(at)), load<u64>(at));
  }
  for (let place: u32 = 0; place < fewCount; place++) countFound(table, slots, fewRow(place));
  for (let word: u32 = 0; word < wordCount; word++) {
    const at = wordAt(word);
    store<u32>(at, getCount(word), 12);
    store<usize>(at, allocate(mergedBytes(getCount(word))), 4);
    store<u32>(at, 0, 8);
  }
  for (let place: u32 = 0; place < fewCount; place++) addFound(table, slots, fewRow(place));
  release(table, slots * SOUGHT_BYTES);
}

function firstSlot(slots: u32, term: u32): u32 {
  return (term * 0x9e3779b1) & (slots - 1);
}

function freeSlot(table: usize, slots: u32, term: u32): usize {
  let slot = firstSlot(slots, term);
  while (load<u32>(table + slot * SOUGHT_BYTES) !== NONE) slot = (slot + 1) & (slots - 1);
  return table + slot * SOUGHT_BYTES;
}

// Two terms of a word in one row count twice here, and take one place in the end.
function countFound(table: usize, slots: u32, row: u32): void {
  const count = get<u32>(row, TERMS);
  for (let place: u32 = 0; place < count; place++) {
    const term = termOfRow(row, place);
    for (let slot = firstSlot(slots, term); ; slot = (slot + 1) & (slots - 1)) {
      const found = load<u32>(table + slot * SOUGHT_BYTES);
      if (found === NONE) break;
      if (found === term) addCount(load<u32>(table + slot * SOUGHT_BYTES, 4));
    }
  }
}

function addCount(word: u32): void {
  store<u32>(wordAt(word), getCount(word) + 1, 8);
}

function addFound(table: usize, slots: u32, row: u32): void {
  const count = get<u32>(row, TERMS);
  for (let place: u32 = 0; place < count; place++) {
    const term = termOfRow(row, place);
    for (let slot = firstSlot(slots, term); ; slot = (slot + 1) & (slots - 1)) {
      const found = load<u32>(table + slot * SOUGHT_BYTES);
      if (found === NONE) break;
      if (found !== term) continue;
      addPosting(load<u32>(table + slot * SOUGHT_BYTES, 4), toPosting(row, frequencyOfTerm(row, place)));
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

/** Of how many changes of what is counted, of so many postings, a count may be behind. */
const BEHIND_SHARE: u32 = 16;

/**
 * In about how many memories of the namespace that are counted any of some terms occurs: what has two of them counts
 * twice, and of the last changes few are left out. It takes no longer where a term is in many memories.
 */
export function aboutDocumentFrequency(terms: usize, count: u32): u32 {
  let sum: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const term = load<u32>(terms + (i << 2));
    const behind = countedChanges - getUncountedSince(term);
    if (behind * BEHIND_SHARE > postingCount(term)) setUncountedPostings(term, countUncounted(term), countedChanges);
    sum += postingCount(term) - min(uncountedPostings(term), postingCount(term));
  }
  return min(sum, memoryCount);
}

function pushWord(term: u32, merged: usize, count: u32): void {
  const at = wordAt(wordCount++);
  store<u32>(at, term);
  store<usize>(at, merged, 4);
  store<u32>(at, count, 8);
  store<u32>(at, count, 12);
}

/** Bytes of a merged list, which may be empty where all that held its terms is gone. */
function mergedBytes(count: u32): usize {
  return max<usize>((count as usize) << 2, 4);
}

function mergePostings(list: usize, length: u32, term: u32, into: usize): u32 {
  let read: u32 = 0;
  let written: u32 = 0;
  for (let chunk = firstChunk(term); chunk !== 0; chunk = nextChunk(chunk)) {
    const postings = chunkPostings(chunk);
    const chunkEnd = chunkLength(chunk);
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

/** In how many memories that are counted a word occurs. */
export function documentFrequency(word: u32): u32 {
  const merged = getMerged(word);
  if (merged !== 0) return countCounted(merged, getCount(word));
  const term = getTerm(word);
  if (term === NONE) return 0;
  // Counted anew only where what is counted has changed: a row that comes in is counted, and so are its postings.
  if (getUncountedSince(term) !== countedChanges) setUncountedPostings(term, countUncounted(term), countedChanges);
  return postingCount(term) - uncountedPostings(term);
}

function countUncounted(term: u32): u32 {
  let counted: u32 = 0;
  for (let chunk = firstChunk(term); chunk !== 0; chunk = nextChunk(chunk)) {
    counted += countCounted(chunkPostings(chunk), chunkLength(chunk));
  }
  return postingCount(term) - counted;
}

function countCounted(postings: usize, length: u32): u32 {
  let counted: u32 = 0;
  for (let i: u32 = 0; i < length; i++) counted += get<u8>(getRow(load<u32>(postings + (i << 2))), COUNTED);
  return counted;
}

/** Adds a word to the match of every row that holds it: `share * f / (f + damping)`. */
export function matchWord(word: u32, share: f32): void {
  findWords();
  const merged = getMerged(word);
  if (merged !== 0) matchPostings(merged, getCount(word), share);
  else if (getTerm(word) !== NONE) {
    for (let chunk = firstChunk(getTerm(word)); chunk !== 0; chunk = nextChunk(chunk)) {
      matchPostings(chunkPostings(chunk), chunkLength(chunk), share);
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
    // No text has as many terms as would need the sign's bit, without which converting takes one instruction.
    const length: f32 = load<i32>(block + LENGTH + place) as f32;
    const damping: f32 = min<f32>(mostDamping, leastDamping + dampingPerTerm * length);
    const match = block + MATCH + place;
    store<f32>(match, load<f32>(match) + (share * frequency) / (frequency + damping));
    store<u8>(touched + (row >> STRETCH_BITS), 1);
  }
}

/** Adds a match to every row of the scope that was created in a time, `until` excluded. */
export function matchCreated(from: f64, until: f64, match: f32): void {
  if (isFew) matchFewCreated(from, until, match);
  else matchAllCreated(from, until, match);
}

function matchFewCreated(from: f64, until: f64, match: f32): void {
  for (let place: u32 = 0; place < fewCount; place++) {
    const row = fewRow(place);
    const createdAt = get<f64>(row, CREATED_AT);
    if (createdAt >= from && createdAt < until && isAllowedAt(place)) addMatch(row, match);
  }
}

function matchAllCreated(from: f64, until: f64, match: f32): void {
  const blocks = (rowCount + BLOCK_ROWS - 1) / BLOCK_ROWS;
  for (let number: u32 = 0; number < blocks; number++) {
    const block = blockAt(number);
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
 * Writes the `most` best matching rows that are allowed, and their matches, to `heap`, best first, and clears all matches.
 * Of rows with one text that match equally, only the newest `mostOfText` are among them.
 */
export function takeBestMatches(most: u32, mostOfText: u32, heap: usize): u32 {
  beginCrowd(mostOfText);
  const size = isFew ? takeFew(most, heap) : takeAll(most, heap);
  sortBest(heap, size);
  return size;
}

// The newest first, so that they are those of a text that are let in.
function takeFew(most: u32, heap: usize): u32 {
  let size: u32 = 0;
  for (let left = fewCount; left > 0; left--) {
    const row = fewRow(left - 1);
    const match = get<f32>(row, MATCH);
    if (match <= 0) continue;
    set<f32>(row, MATCH, 0);
    store<u8>(touched + (row >> STRETCH_BITS), 0);
    if (isAllowedAt(left - 1) && !isRepeated(row, match)) size = keepBest(heap, size, most, row, match);
  }
  return size;
}

function takeAll(most: u32, heap: usize): u32 {
  let size: u32 = 0;
  const stretches = (rowCount + STRETCH_ROWS - 1) >> STRETCH_BITS;
  // The newest first, so that they are those of a text that are let in.
  for (let left = stretches; left > 0; left--) {
    const stretch = left - 1;
    if (load<u8>(touched + stretch) === 0) continue;
    store<u8>(touched + stretch, 0);
    size = takeStretch(stretch, most, heap, size);
  }
  return size;
}

function takeStretch(stretch: u32, most: u32, heap: usize, filled: u32): u32 {
  let size = filled;
  const first = stretch << STRETCH_BITS;
  const matches = blockAt(first / BLOCK_ROWS) + MATCH + (inBlock(first) << 2);
  for (let end = STRETCH_ROWS; end > 0; end -= 4) {
    const place = end - 4;
    const four = v128.load(matches + (place << 2));
    const least: f32 = size < most ? f32.MIN_VALUE : load<f32>(heap, 4);
    if (!v128.any_true(f32x4.ge(four, f32x4.splat(least)))) continue;
    for (let above: u32 = 4; above > 0; above--) {
      const row = first + place + above - 1;
      const match = get<f32>(row, MATCH);
      if (match <= 0 || (size === most && match < load<f32>(heap, 4)) || !isAllowed(row)) continue;
      if (!isRepeated(row, match)) size = keepBest(heap, size, most, row, match);
    }
  }
  memory.fill(matches, 0, STRETCH_ROWS << 2);
  return size;
}

/** Whether enough rows have been let in that say the same and match as well. */
function isRepeated(row: u32, match: f32): bool {
  const text = get<u32>(row, TEXT);
  return isCrowdedOut(text === 0 ? 0 : (mix(text, reinterpret<u32>(match)) as u32));
}

/** Writes how often a word occurs in each selected row, as 16-bit numbers that are `stride` bytes apart. */
export function writeFrequencies(word: u32, into: usize, stride: u32): void {
  findWords();
  const merged = getMerged(word);
  if (merged !== 0) findFrequencies(merged, getCount(word), 0, into, stride);
  else if (getTerm(word) !== NONE) {
    let next: u32 = 0;
    for (let chunk = firstChunk(getTerm(word)); chunk !== 0 && next < selectedCount; chunk = nextChunk(chunk)) {
      next = findFrequencies(chunkPostings(chunk), chunkLength(chunk), next, into, stride);
    }
  }
}

// Whichever of the two is behind goes forward in leaps, so that neither a long list of postings nor a long selection
// is gone through (Demaine, López-Ortiz and Munro 2000, "Adaptive set intersections").
/** Looks for the selection from `next` on in postings; answers the first of it that lies beyond them. */
function findFrequencies(postings: usize, length: u32, next: u32, into: usize, stride: u32): u32 {
  let at = next;
  let held: u32 = 0;
  while (at < selectedCount && held < length) {
    const row = selectedRow(at);
    const posting = load<u32>(postings + (held << 2));
    if (getRow(posting) < row) held = firstPostingFrom(postings, held + 1, length, row);
    else if (getRow(posting) > row) at = firstSelectedFrom(at + 1, getRow(posting));
    else store<u16>(into + selectedPlace(at++) * stride, getFrequency(posting) as u16);
  }
  return at;
}
