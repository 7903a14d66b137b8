import { allocate, release } from './memory';
import { addTerm, append, sweep, termCount } from './postings';
import {
  addRow,
  CREATED_AT,
  DAMPING,
  get,
  LENGTH,
  LIVE,
  MARKS,
  NAMESPACE,
  NEXT,
  ORDINAL,
  PREVIOUS,
  REVISION,
  rowCount,
  SESSION,
  SPEAKER,
  SUPERSEDED,
  set,
  setExpiry,
  TIER,
} from './rows';
import { isAllowed, memoryCount, scopeNamespace, scopeNothing, scopePostings, scopeTimeAndTier } from './scope';
import { addSession, enterSession, leaveSession } from './sessions';
import { clearTable, find, NONE, put, Table } from './table';
import {
  closeGaps,
  deadVectors,
  dropVectors,
  largestProduct,
  nearestSigns,
  product,
  queryBytes,
  rowOfVector,
  setDimensions,
  setVectors,
  vectorCount,
} from './vectors';
import { addAlternatives, addWord, documentFrequency, wordCount } from './words';

/*
 * What the host calls (see recall-index.ts). It writes entries and questions into the exchange, a stretch of memory
 * that it asks for, and reads answers from there.
 */

export { clearPostponed, join, lastRow, postponedCount, postponedRow, sessionCount, setLastRow } from './sessions';
export { MOST_DIMENSIONS } from './vectors';
export { clearWords, MOST_WORDS, matchWord, takeBestMatches, writeFrequencies } from './words';
export { isAllowed, memoryCount, rowCount, termCount, vectorCount };

const TABLE_BYTES = 16;
const terms: Table = clearTable(memory.data(TABLE_BYTES, 16));
const rows: Table = clearTable(memory.data(TABLE_BYTES, 16));
const namespaces: Table = clearTable(memory.data(TABLE_BYTES, 16));
const sessions: Table = clearTable(memory.data(TABLE_BYTES, 16));

let model: u32 = 0;
let leastDamping: f32 = 0;
let dampingPerTerm: f32 = 0;

/**
 * To be called once, before all else.
 *
 * @param modelNumber the model whose vectors are taken
 * @param modelDimensions of its vectors
 * @param least what BM25 adds to a frequency in a text without terms
 * @param perTerm what it adds for each term
 */
export function open(modelNumber: u32, modelDimensions: u32, least: f32, perTerm: f32): void {
  model = modelNumber;
  setDimensions(modelDimensions);
  leastDamping = least;
  dampingPerTerm = perTerm;
}

let exchangeAt: usize = 0;
let exchangeBytes: usize = 0;

/** A stretch of memory of at least so many bytes; what it held may be lost. */
export function exchange(bytes: usize): usize {
  if (bytes <= exchangeBytes) return exchangeAt;
  if (exchangeBytes > 0) release(exchangeAt, exchangeBytes);
  exchangeBytes = bytes;
  exchangeAt = allocate(bytes);
  return exchangeAt;
}

/** Fields of an entry, by their place in it (see entry.ts). */
const ENTRY_ORDINAL: usize = 0;
const ENTRY_CREATED_AT: usize = 8;
const ENTRY_NAMESPACE: usize = 16;
const ENTRY_SESSION: usize = 24;
const ENTRY_REVISION: usize = 32;
const ENTRY_LENGTH: usize = 36;
const ENTRY_SPEAKER: usize = 40;
const ENTRY_MARKS: usize = 44;
const ENTRY_TERMS: usize = 48;
const ENTRY_LABELS: usize = 52;
const ENTRY_VECTORS: usize = 56;
const ENTRY_MODEL: usize = 60;
const ENTRY_HEAD: usize = 64;
const TERM_BYTES: u32 = 8;

/** Takes in a memory's entry, new or changed. A new one is in the tier 0 and does not expire. */
export function takeIn(entry: usize): void {
  let row = rowOfOrdinal(load<f64>(entry, ENTRY_ORDINAL));
  if (row !== NONE && get<u32>(row, REVISION) !== load<u32>(entry, ENTRY_REVISION)) {
    remove(row);
    row = NONE;
  }
  if (row === NONE) row = enter(entry);
  const count = load<u32>(entry, ENTRY_MODEL) === model ? load<u32>(entry, ENTRY_VECTORS) : 0;
  const termsEnd = load<u32>(entry, ENTRY_TERMS) + load<u32>(entry, ENTRY_LABELS);
  setVectors(row, entry + ENTRY_HEAD + termsEnd * TERM_BYTES, count);
}

function enter(entry: usize): u32 {
  const row = addRow();
  put(rows, load<f64>(entry, ENTRY_ORDINAL) as u64, row);
  set<f64>(row, ORDINAL, load<f64>(entry, ENTRY_ORDINAL));
  set<f64>(row, CREATED_AT, load<f64>(entry, ENTRY_CREATED_AT));
  setExpiry(row, Infinity);
  set<u32>(row, NAMESPACE, namespaceNumber(load<u64>(entry, ENTRY_NAMESPACE)));
  set<u32>(row, SESSION, sessionNumber(load<u64>(entry, ENTRY_SESSION)));
  set<u32>(row, REVISION, load<u32>(entry, ENTRY_REVISION));
  set<u32>(row, LENGTH, load<u32>(entry, ENTRY_LENGTH));
  set<f32>(row, DAMPING, leastDamping + dampingPerTerm * (load<u32>(entry, ENTRY_LENGTH) as f32));
  set<u32>(row, SPEAKER, load<u32>(entry, ENTRY_SPEAKER));
  set<u16>(row, MARKS, load<u16>(entry, ENTRY_MARKS));
  set<u8>(row, LIVE, 1);
  appendTerms(row, entry);
  enterSession(row);
  return row;
}

/** Sets what changes of a memory while its entry stays, if it is in. */
export function setState(ordinal: f64, tier: u32, expiresAt: f64, superseded: bool): void {
  const row = rowOfOrdinal(ordinal);
  if (row === NONE) return;
  set<u8>(row, TIER, tier as u8);
  set<u8>(row, SUPERSEDED, superseded ? 1 : 0);
  setExpiry(row, expiresAt);
}

function namespaceNumber(digest: u64): u32 {
  const known = find(namespaces, digest);
  if (known !== NONE) return known;
  const number = namespaces.used + 1;
  put(namespaces, digest, number);
  return number;
}

function sessionNumber(digest: u64): u32 {
  if (digest === 0) return 0;
  const known = find(sessions, digest);
  if (known !== NONE) return known;
  const number = addSession();
  put(sessions, digest, number);
  return number;
}

// A term is a digest (48 bits) above its frequency (16 bits); a label is a digest with nothing below.
function appendTerms(row: u32, entry: usize): void {
  const count = load<u32>(entry, ENTRY_TERMS) + load<u32>(entry, ENTRY_LABELS);
  for (let i: u32 = 0; i < count; i++) {
    const term = load<u64>(entry + ENTRY_HEAD + i * TERM_BYTES);
    append(termNumber(term >> 16), row, (term & 0xffff) as u32);
  }
}

function termNumber(digest: u64): u32 {
  const known = find(terms, digest);
  if (known !== NONE) return known;
  const number = addTerm();
  put(terms, digest, number);
  return number;
}

let deadRows: u32 = 0;

/** Takes a memory out, if it is in. */
export function takeOut(ordinal: f64): void {
  const row = rowOfOrdinal(ordinal);
  if (row !== NONE) remove(row);
}

function remove(row: u32): void {
  put(rows, get<f64>(row, ORDINAL) as u64, NONE);
  set<u8>(row, LIVE, 0);
  leaveSession(row);
  dropVectors(row);
  deadRows++;
}

/** The row of a memory that is in; NONE where it is not. */
export function rowOfOrdinal(ordinal: f64): u32 {
  return find(rows, ordinal as u64);
}

/** Rows in recall and those that left it but whose postings are still there. */
const SWEPT_AT: u32 = 1024;
const SWEPT_SHARE: u32 = 16;
let sweptTerms: u32 = 0;
let sweptRows: u32 = 0;

/** Clears some of what was left behind by memories that are gone, at most so many terms at a time. */
export function tidy(mostTerms: u32): void {
  if (deadVectors > SWEPT_AT && deadVectors * SWEPT_SHARE > vectorCount) closeGaps();
  if (sweptTerms === 0) {
    if (deadRows < SWEPT_AT || deadRows * SWEPT_SHARE < rowCount) return;
    sweptRows = deadRows;
  }
  const end = min<u32>(termCount, sweptTerms + mostTerms);
  while (sweptTerms < end) sweep(sweptTerms++);
  if (sweptTerms < termCount) return;
  sweptTerms = 0;
  deadRows -= sweptRows;
}

/** Begins a question; what may be answered is what a namespace has in recall at a time. */
export function scope(namespace: usize, now: f64): void {
  scopeNamespace(find(namespaces, load<u64>(namespace)), now);
}

/** Narrows the scope; the tier is 0 for any. */
export function narrow(since: f64, until: f64, tier: u32): void {
  scopeTimeAndTier(since, until, tier as u8);
}

/** Narrows the scope to the memories with a label. */
export function narrowToLabel(label: usize): void {
  const term = find(terms, load<u64>(label));
  if (term === NONE) scopeNothing();
  else scopePostings(term);
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
  if (known > 1) addAlternatives(numbers, known);
  else addWord(known === 0 ? NONE : load<u32>(numbers));
  return documentFrequency(wordCount - 1, deadRows > 0);
}

/** Bytes that a query vector takes: a signed byte a dimension, and zeros. */
export function queryVectorBytes(): usize {
  return queryBytes();
}

/**
 * Writes allowed rows that own the nearest vectors by sign, each with the product of vector and query in four bits, as
 * a row (32 bits) and a 32-bit float; answers how many, at most twice `most`. A row may come several times.
 */
export function nearest(query: usize, most: u32, into: usize): u32 {
  if (vectorCount === 0) return 0;
  const count = nearestSigns(query, most, into);
  // A row and a product take twice the room of a vector's number, so they are written from the end.
  for (let i = count; i > 0; i--) {
    const vector = load<u32>(into + ((i - 1) << 2));
    store<u32>(into + ((i - 1) << 3), rowOfVector(vector));
    store<f32>(into + ((i - 1) << 3), product(query, vector), 4);
  }
  return count;
}

/** Writes the product of a query with the nearest vector of each of some rows; NaN where there is none. */
export function products(query: usize, some: usize, count: u32, into: usize): void {
  for (let i: u32 = 0; i < count; i++) {
    store<f32>(into + (i << 2), largestProduct(query, load<u32>(some + (i << 2))));
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

export function length(row: u32): u32 {
  return get<u32>(row, LENGTH);
}

export function speaker(row: u32): u32 {
  return get<u32>(row, SPEAKER);
}

export function marks(row: u32): u32 {
  return get<u16>(row, MARKS);
}

export function isSuperseded(row: u32): bool {
  return get<u8>(row, SUPERSEDED) !== 0;
}

export function isLive(row: u32): bool {
  return get<u8>(row, LIVE) !== 0;
}
