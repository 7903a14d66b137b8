import { BEST_BYTES, keepBest, sortBest } from './best';
import { countedRows, namespaces, terms } from './entries';
import { exactProduct, exactVector } from './exact';
import { isFew } from './few';
import { allocate, release } from './memory';
import {
  CREATED_AT,
  EXPIRES_AT,
  get,
  IMPORTANCE,
  LENGTH,
  LIVE,
  MARKS,
  NEXT,
  ORDINAL,
  PREVIOUS,
  SESSION,
  SPEAKER,
  STORED_AT,
  SUPERSEDED,
  TEXT,
  TIER,
} from './rows';
import { scopeAnyPostings, scopeNotSuperseded, scopeTimeAndTier, scopeUsers } from './scope';
import { selectedCount, selectedPlace, selectedRow } from './selection';
import { find, NONE } from './table';
import { largestProduct, nearestSigns, queryBytes, vectorCount } from './vectors';
import { aboutDocumentFrequency, addAlternatives, addWord, addWordOfFew, documentFrequency, wordCount } from './words';

/*
 * What the host calls (see recall-index.ts). It writes entries and questions into the exchange, a stretch of memory
 * that it asks for, and reads answers from there.
 */

export { leftOut } from './best';
export { expectEntry, expectNothing, isAsExpected } from './check';
export { goneRows, goneTerms, heldTerms, open, rowOfOrdinal, setState, takeIn, takeOut, tidy } from './entries';
export { exactProduct, keepExact } from './exact';
export { fewCount } from './few';
export { outOfRoom } from './memory';
export { rowCount } from './rows';
export { isAllowed, memoryCount } from './scope';
export { select } from './selection';
export { clearPostponed, join, lastRow, postponedCount, postponedRow, setLastRow } from './sessions';
export { clearWords, MAX_WORDS, matchCreated, matchWord, takeBestMatches, writeFrequencies } from './words';

let exchangeAt: usize = 0;
let exchangeBytes: usize = 0;

/** A stretch of memory of at least so many bytes; what it held may be lost. */
export function exchange(bytes: usize): usize {
  if (bytes <= exchangeBytes) return exchangeAt;
  if (exchangeBytes > 0) release(exchangeAt, exchangeBytes);
  // There may be no room, and then there is none to be given back either.
  exchangeBytes = 0;
  exchangeAt = allocate(bytes);
  exchangeBytes = bytes;
  return exchangeAt;
}

/** Begins a question; what may be answered is what a namespace has in recall at a time. */
export function scope(namespace: usize, users: usize, userCount: u32, now: f64): void {
  toTerms(users, userCount);
  const number = find(namespaces, load<u64>(namespace));
  scopeUsers(number, countedRows(number), users, userCount, now);
}

/** Narrows the scope. */
export function narrow(since: f64, until: f64, tier: u32): void {
  scopeTimeAndTier(since, until, tier as u8);
}

/** Narrows the scope to the memories that nothing supersedes. */
export function narrowToCurrent(): void {
  scopeNotSuperseded();
}

/** Narrows the scope to the memories with any of some labels, of which none has two. */
export function narrowToAny(labels: usize, count: u32): void {
  toTerms(labels, count);
  scopeAnyPostings(labels, count);
}

/** Puts the numbers of terms, or NONE, in the place of their digests. */
function toTerms(digests: usize, count: u32): void {
  // Never ahead of what is still to be read.
  for (let i: u32 = 0; i < count; i++) store<u32>(digests + (i << 2), find(terms, load<u64>(digests + (i << 3))));
}

/** Adds a word of the question, any of several terms; answers in how many memories it occurs. */
export function word(alternatives: usize, count: u32): u32 {
  const numbers = alternatives;
  let known: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const term = find(terms, load<u64>(alternatives + (i << 3)));
    // Never ahead of what is still to be read.
    if (term !== NONE) store<u32>(numbers + (known++ << 2), term);
  }
  if (isFew) {
    addWordOfFew(numbers, known);
    return aboutDocumentFrequency(numbers, known);
  }
  if (known > 1) addAlternatives(numbers, known);
  else addWord(known === 0 ? NONE : load<u32>(numbers));
  return documentFrequency(wordCount - 1);
}

/** Bytes that a query vector takes: a signed byte a dimension, and zeros. */
export function queryVectorBytes(): usize {
  return queryBytes();
}

/**
 * Writes the `count` allowed rows that own the nearest vectors, nearest first, each with the product of query and its
 * nearest vector in four bits, as a row (32 bits) and a 32-bit float; answers how many. Looked at are those nearest by
 * sign, `most` or up to twice as many, for which there must be room behind the answer, four bytes each. Of rows with one
 * text only `mostOfText` are looked at.
 */
export function nearest(query: usize, count: u32, most: u32, mostOfText: u32, into: usize): u32 {
  if (vectorCount === 0) return 0;
  const candidates = into + count * BEST_BYTES;
  const found = nearestSigns(query, most, mostOfText, candidates);
  let size: u32 = 0;
  for (let i: u32 = 0; i < found; i++) {
    const row = load<u32>(candidates + (i << 2));
    size = keepBest(into, size, count, row, largestProduct(query, row));
  }
  sortBest(into, size);
  return size;
}

/** The inner product of a query (32-bit floats) and the vector of a row where that is at hand, else NaN. */
export function exactAtHand(query: usize, row: u32): f64 {
  const vector = exactVector(row);
  return vector === 0 ? f64.NaN : exactProduct(query, vector);
}

/** Writes the product of a query with the nearest vector of each selected row, times a step; NaN where there is none. */
export function cosines(query: usize, step: f64, into: usize): void {
  for (let i: u32 = 0; i < selectedCount; i++) {
    const product: f64 = largestProduct(query, selectedRow(i));
    store<f32>(into + (selectedPlace(i) << 2), (product * step) as f32);
  }
}

/**
 * Writes what is known of the selected rows, a column after the other: ordinals, times of creation and of storing (f64
 * each), sessions, speakers, lengths, the rows before and after, numbers of texts (u32 each), importances (f32), marks (u16).
 */
export function describe(into: usize): void {
  const count = selectedCount;
  const sessions = into + 24 * count;
  const column = count << 2;
  const marks = sessions + 7 * column;
  for (let i: u32 = 0; i < count; i++) {
    const row = selectedRow(i);
    const place = selectedPlace(i);
    const at = sessions + (place << 2);
    store<f64>(into + (place << 3), get<f64>(row, ORDINAL));
    store<f64>(into + ((count + place) << 3), get<f64>(row, CREATED_AT));
    store<f64>(into + ((2 * count + place) << 3), get<f64>(row, STORED_AT));
    store<u32>(at, get<u32>(row, SESSION));
    store<u32>(at + column, get<u32>(row, SPEAKER));
    store<u32>(at + 2 * column, get<u32>(row, LENGTH));
    store<u32>(at + 3 * column, get<u32>(row, PREVIOUS));
    store<u32>(at + 4 * column, get<u32>(row, NEXT));
    store<u32>(at + 5 * column, get<u32>(row, TEXT));
    store<f32>(at + 6 * column, get<f32>(row, IMPORTANCE));
    store<u16>(marks + (place << 1), get<u16>(row, MARKS));
  }
}

export function ordinal(row: u32): f64 {
  return get<f64>(row, ORDINAL);
}

export function createdAt(row: u32): f64 {
  return get<f64>(row, CREATED_AT);
}

export function session(row: u32): u32 {
  return get<u32>(row, SESSION);
}

export function previous(row: u32): u32 {
  return get<u32>(row, PREVIOUS);
}

export function next(row: u32): u32 {
  return get<u32>(row, NEXT);
}

export function tier(row: u32): u32 {
  return get<u8>(row, TIER);
}

export function expiresAt(row: u32): f64 {
  return get<f64>(row, EXPIRES_AT);
}

export function isSuperseded(row: u32): bool {
  return get<u8>(row, SUPERSEDED) !== 0;
}

export function isLive(row: u32): bool {
  return get<u8>(row, LIVE) !== 0;
}
