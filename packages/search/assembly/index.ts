import { getCountedRows, namespaces, terms } from './entries';
import { exactProduct, getCachedVector } from './exact';
import { HEAP_ITEM_BYTES, pushToHeap, sortHeap } from './heap';
import { allocate, release } from './memory';
import {
  BEGINS_AT,
  CREATED_AT,
  ENDS_AT,
  EXPIRES_AT,
  get,
  IMPORTANCE,
  LENGTH,
  LIVE,
  MARKS,
  NEXT,
  ORDINAL,
  PREVIOUS,
  REPLACEMENT,
  SESSION,
  SPEAKER,
  STORED_AT,
  TEXT,
  TIER,
} from './rows';
import { scopeAnyPostings, scopeHolding, scopeMarkedRows, scopeStored, scopeTimeAndTier, scopeUsers } from './scope';
import { getSelectedPlace, getSelectedRow, selectedCount } from './selection';
import { isSmallScope } from './small-scope';
import { find, NONE } from './table';
import { getLargestProduct, getQueryBytes, nearestSigns, vectorCount } from './vectors';
import {
  addAlternatives,
  addWord,
  addWordInSmallScope,
  estimateDocumentFrequency,
  getDocumentFrequency,
  wordCount,
} from './words';

/*
 * The interface for the host (see src/index/recall-index.ts). The host writes index entries and queries into the exchange buffer
 * and reads results from there.
 */

export { expectEntry, matchesExpected, resetExpected } from './check';
export {
  findRow,
  liveTerms,
  open,
  putEntry,
  removedRows,
  removedTerms,
  removeMemory,
  setState,
  sweepTerms,
} from './entries';
export { cacheExact, exactProduct } from './exact';
export { hasSkippedTexts } from './heap';
export { isOutOfMemory } from './memory';
export { rowCount } from './rows';
export { sampleTexts } from './sample';
export { countMemories, excludeRow, includeRow, isAllowed, memoryCount } from './scope';
export { select } from './selection';
export { clearPostponed, lastRow, linkRows, postponedCount, postponedRow, setLastRow } from './sessions';
export { smallScopeCount } from './small-scope';
export {
  clearWords,
  countInScope,
  MAX_WORDS,
  matchCreated,
  matchWord,
  takeBestMatches,
  writeFrequencies,
} from './words';

let exchangeAt: usize = 0;
let exchangeBytes: usize = 0;

/**
 * Returns the address of a buffer of at least `bytes` bytes. The previous contents may be lost. Traps if memory is
 * exhausted.
 */
export function exchange(bytes: usize): usize {
  if (bytes <= exchangeBytes) return exchangeAt;
  if (exchangeBytes > 0) release(exchangeAt, exchangeBytes);
  // Reset first: if the allocation traps, there is no buffer to release.
  exchangeBytes = 0;
  exchangeAt = allocate(bytes);
  exchangeBytes = bytes;
  return exchangeAt;
}

/**
 * Begins a query whose scope is the memories of a namespace that have not expired at `now`. If users are given, the
 * scope has only memories of these users.
 */
export function beginScope(namespace: usize, users: usize, userCount: u32, now: f64): void {
  toTerms(users, userCount);
  const number = find(namespaces, load<u64>(namespace));
  scopeUsers(number, getCountedRows(number), users, userCount, now);
}

/** Narrows the scope to a creation time range, ends included, and a tier. */
export function narrowToTimeAndTier(since: f64, until: f64, tier: u32): void {
  scopeTimeAndTier(since, until, tier as u8);
}

/** See `scopeHolding`. */
export function narrowToHolding(at: f64, isReplacementAlone: bool): void {
  scopeHolding(at, isReplacementAlone);
}

/** Narrows the scope to memories that were stored at `until` or before. */
export function narrowToStored(until: f64): void {
  scopeStored(until);
}

/** Narrows the scope to the rows whose byte is not 0, of one byte for each row. */
export function narrowToRows(bytes: usize): void {
  scopeMarkedRows(bytes);
}

/**
 * Narrows the scope to memories with one of the given labels. The caller ensures that no memory has two of the labels,
 * such as two users.
 */
export function narrowToAny(labels: usize, count: u32): void {
  toTerms(labels, count);
  scopeAnyPostings(labels, count);
}

/** Replaces each digest in place by the number of its term; NONE if the index has no such term. */
function toTerms(digests: usize, count: u32): void {
  // A number is shorter than a digest, so writing never overtakes reading.
  for (let i: u32 = 0; i < count; i++) store<u32>(digests + (i << 2), find(terms, load<u64>(digests + (i << 3))));
}

/**
 * Adds a query word with alternative terms and returns the document frequency of the word, which is an estimate in a
 * small scope.
 */
export function addQueryWord(alternatives: usize, count: u32): u32 {
  const numbers = alternatives;
  let known: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const term = find(terms, load<u64>(alternatives + (i << 3)));
    // A number is shorter than a digest, so writing never overtakes reading.
    if (term !== NONE) store<u32>(numbers + (known++ << 2), term);
  }
  if (isSmallScope) {
    addWordInSmallScope(numbers, known);
    return estimateDocumentFrequency(numbers, known);
  }
  if (known > 1) addAlternatives(numbers, known);
  else addWord(known === 0 ? NONE : load<u32>(numbers));
  return getDocumentFrequency(wordCount - 1);
}

/** Returns the size of a query vector in bytes: one signed byte per dimension, zero-padded to a multiple of 384. */
export function queryVectorBytes(): usize {
  return getQueryBytes();
}

/**
 * Writes the rows in scope with the nearest vectors, nearest first, at most `count`, and returns the number of rows. A
 * result is a row (32 bits) and the product of the query and the row's nearest four-bit vector (32-bit float). The
 * candidates are the rows nearest by vector signs: at most `limit`, or twice as many with ties, and at most
 * `maxPerText` with the same text. `into` must have room for the results and, after the results, for four bytes per
 * candidate.
 */
export function findNearest(query: usize, count: u32, limit: u32, maxPerText: u32, into: usize): u32 {
  if (vectorCount === 0) return 0;
  const candidates = into + count * HEAP_ITEM_BYTES;
  const found = nearestSigns(query, limit, maxPerText, candidates);
  let size: u32 = 0;
  for (let i: u32 = 0; i < found; i++) {
    const row = load<u32>(candidates + (i << 2));
    size = pushToHeap(into, size, count, row, getLargestProduct(query, row));
  }
  sortHeap(into, size);
  return size;
}

/** Returns the inner product of a query (32-bit floats) and a row's cached vector; NaN if the vector is not cached. */
export function cachedExactProduct(query: usize, row: u32): f64 {
  const vector = getCachedVector(row);
  return vector === 0 ? f64.NaN : exactProduct(query, vector);
}

/**
 * Writes the product of the query and the nearest vector of each selected row, times `step`; NaN for rows without
 * vectors.
 */
export function cosines(query: usize, step: f64, into: usize): void {
  for (let i: u32 = 0; i < selectedCount; i++) {
    const product: f64 = getLargestProduct(query, getSelectedRow(i));
    store<f32>(into + (getSelectedPlace(i) << 2), (product * step) as f32);
  }
}

/**
 * Writes the fields of the selected rows in columns: ordinals, creation times, storing times, and times at
 * which memories begin and end to hold (f64 each), sessions,
 * speakers, lengths, previous rows, next rows, text numbers (u32 each), importances (f32), marks (u16).
 */
export function describe(into: usize): void {
  const count = selectedCount;
  const sessions = into + 40 * count;
  const column = count << 2;
  const marks = sessions + 7 * column;
  for (let i: u32 = 0; i < count; i++) {
    const row = getSelectedRow(i);
    const place = getSelectedPlace(i);
    const at = sessions + (place << 2);
    store<f64>(into + (place << 3), get<f64>(row, ORDINAL));
    store<f64>(into + ((count + place) << 3), get<f64>(row, CREATED_AT));
    store<f64>(into + ((2 * count + place) << 3), get<f64>(row, STORED_AT));
    store<f64>(into + ((3 * count + place) << 3), get<f64>(row, BEGINS_AT));
    store<f64>(into + ((4 * count + place) << 3), get<f64>(row, ENDS_AT));
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

export function beginsAt(row: u32): f64 {
  return get<f64>(row, BEGINS_AT);
}

export function endsAt(row: u32): f64 {
  return get<f64>(row, ENDS_AT);
}

export function replacement(row: u32): u32 {
  return get<u8>(row, REPLACEMENT);
}

export function isLive(row: u32): bool {
  return get<u8>(row, LIVE) !== 0;
}
