import { limitMemory } from './memory';
import { addNumber, getNumberAddress, LIST_BYTES } from './numbers';
import { addTerm, append, sweep, termCount } from './postings';
import {
  addRow,
  BEGINS_AT,
  COUNTED,
  CREATED_AT,
  ENDS_AT,
  get,
  IMPORTANCE,
  LENGTH,
  LIVE,
  MARKS,
  NAMESPACE,
  ORDINAL,
  REPLACEMENT,
  REVISION,
  rowCount,
  SESSION,
  SPEAKER,
  STORED_AT,
  set,
  setExpiry,
  TERMS,
  TEXT,
  TIER,
} from './rows';
import { addSession, enterSession, leaveSession } from './sessions';
import { clearTable, find, mix, NONE, put, Table } from './table';
import { addTermList, dropTermList, setTermOfRow } from './terms-of-row';
import { closeGaps, dropVectors, removedVectors, setDimensions, setVectors, vectorCount } from './vectors';

/* Adds, changes and removes memories. */

const TABLE_BYTES = 16;
export const terms: Table = clearTable(memory.data(TABLE_BYTES, 16));
const rows: Table = clearTable(memory.data(TABLE_BYTES, 16));
export const namespaces: Table = clearTable(memory.data(TABLE_BYTES, 16));
export const sessions: Table = clearTable(memory.data(TABLE_BYTES, 16));

export let model: u32 = 0;
/**
 * BM25's damping of term frequencies, which grows with the length of the text: the damping for an empty text, the
 * increase per word, and the maximum damping.
 */
export let minDamping: f32 = 0;
export let dampingPerTerm: f32 = 0;
export let maxDamping: f32 = 0;

/**
 * Must be called once, before any other function.
 *
 * @param modelNumber the model whose vectors are indexed
 * @param modelDimensions dimensions of the vectors of the model
 * @param minimum see `minDamping`
 * @param perTerm see `dampingPerTerm`
 * @param maximum see `maxDamping`
 * @param maxBytes maximum memory of the index, in bytes
 */
export function open(
  modelNumber: u32,
  modelDimensions: u32,
  minimum: f32,
  perTerm: f32,
  maximum: f32,
  maxBytes: u32,
): void {
  limitMemory(maxBytes);
  model = modelNumber;
  setDimensions(modelDimensions);
  minDamping = minimum;
  dampingPerTerm = perTerm;
  maxDamping = maximum;
}

/** Byte offsets of the fields of an index entry (see entry.ts). `ENTRY_HEAD` is the offset of the first term. */
export const ENTRY_ORDINAL: usize = 0;
export const ENTRY_CREATED_AT: usize = 8;
export const ENTRY_NAMESPACE: usize = 16;
export const ENTRY_SESSION: usize = 24;
export const ENTRY_REVISION: usize = 32;
export const ENTRY_LENGTH: usize = 36;
export const ENTRY_SPEAKER: usize = 40;
export const ENTRY_MARKS: usize = 44;
export const ENTRY_TERMS: usize = 48;
export const ENTRY_LABELS: usize = 52;
export const ENTRY_VECTORS: usize = 56;
export const ENTRY_MODEL: usize = 60;
export const ENTRY_STORED_AT: usize = 64;
export const ENTRY_IMPORTANCE: usize = 72;
export const ENTRY_HEAD: usize = 80;
export const TERM_BYTES: u32 = 8;

/**
 * Adds a memory's index entry, or replaces the previous index entry of the memory. If the revision is unchanged,
 * replaces only the vectors. Otherwise, the memory gets a new row, and is episodic, without expiry, end or replacement
 * until `setState` is called.
 */
export function putEntry(entry: usize): void {
  let row = findRow(load<f64>(entry, ENTRY_ORDINAL));
  if (row !== NONE && get<u32>(row, REVISION) !== load<u32>(entry, ENTRY_REVISION)) {
    removeRow(row);
    row = NONE;
  }
  if (row === NONE) row = addMemory(entry);
  const count = load<u32>(entry, ENTRY_MODEL) === model ? load<u32>(entry, ENTRY_VECTORS) : 0;
  const termsEnd = load<u32>(entry, ENTRY_TERMS) + load<u32>(entry, ENTRY_LABELS);
  setVectors(row, entry + ENTRY_HEAD + termsEnd * TERM_BYTES, count);
}

function addMemory(entry: usize): u32 {
  const row = addRow();
  put(rows, load<f64>(entry, ENTRY_ORDINAL) as u64, row);
  set<f64>(row, ORDINAL, load<f64>(entry, ENTRY_ORDINAL));
  set<f64>(row, CREATED_AT, load<f64>(entry, ENTRY_CREATED_AT));
  set<f64>(row, BEGINS_AT, load<f64>(entry, ENTRY_CREATED_AT));
  set<f64>(row, ENDS_AT, Infinity);
  setExpiry(row, Infinity);
  set<u32>(row, NAMESPACE, toNamespaceNumber(load<u64>(entry, ENTRY_NAMESPACE)));
  set<u32>(row, SESSION, toSessionNumber(load<u64>(entry, ENTRY_SESSION)));
  set<u32>(row, REVISION, load<u32>(entry, ENTRY_REVISION));
  set<u32>(row, LENGTH, load<u32>(entry, ENTRY_LENGTH));
  set<u32>(row, TEXT, hashText(entry));
  set<u32>(row, SPEAKER, load<u32>(entry, ENTRY_SPEAKER));
  set<u16>(row, MARKS, load<u16>(entry, ENTRY_MARKS));
  set<f64>(row, STORED_AT, load<f64>(entry, ENTRY_STORED_AT));
  set<f32>(row, IMPORTANCE, load<f32>(entry, ENTRY_IMPORTANCE));
  set<u8>(row, LIVE, 1);
  set<u8>(row, COUNTED, 1);
  changeCountedRows(row, 1);
  appendTerms(row, entry);
  enterSession(row);
  return row;
}

/**
 * Sets the tier, the expiry time and the period of a memory. No effect if the memory is not indexed.
 *
 * @param beginsAt Infinity for the creation time
 * @param replacement 0 if nothing replaces the memory, 1 if another memory replaces it from `endsAt` on, 2 if the two
 * times do not tell when the memory holds
 */
export function setState(ordinal: f64, tier: u32, expiresAt: f64, beginsAt: f64, endsAt: f64, replacement: u32): void {
  const row = findRow(ordinal);
  if (row === NONE) return;
  set<u8>(row, TIER, tier as u8);
  setCounted(row, tier !== SEMANTIC);
  set<f64>(row, BEGINS_AT, beginsAt === Infinity ? get<f64>(row, CREATED_AT) : beginsAt);
  set<f64>(row, ENDS_AT, endsAt);
  set<u8>(row, REPLACEMENT, replacement as u8);
  setExpiry(row, expiresAt);
}

/** The host's number for the semantic tier. */
const SEMANTIC: u32 = 2;

/**
 * Number of times that the COUNTED flag of any existing row has changed. Each term caches the number of its postings in
 * rows with COUNTED 0; the cached number is exact until the next change.
 */
export let countedChanges: u32 = 0;

function setCounted(row: u32, counted: bool): void {
  if ((get<u8>(row, COUNTED) !== 0) === counted) return;
  set<u8>(row, COUNTED, counted ? 1 : 0);
  changeCountedRows(row, counted ? 1 : -1);
  countedChanges++;
}

/** Number of rows with COUNTED 1 per namespace, including expired rows. Namespace n is at index n - 1. */
const countedPages = memory.data(LIST_BYTES, 16);

function changeCountedRows(row: u32, more: i32): void {
  const at = getNumberAddress(countedPages, get<u32>(row, NAMESPACE) - 1);
  store<u32>(at, load<u32>(at) + more);
}

export function getCountedRows(namespace: u32): u32 {
  return namespace === NONE ? 0 : load<u32>(getNumberAddress(countedPages, namespace - 1));
}

function toNamespaceNumber(digest: u64): u32 {
  const known = find(namespaces, digest);
  if (known !== NONE) return known;
  const number = namespaces.used + 1;
  addNumber(countedPages, number - 1, 0);
  put(namespaces, digest, number);
  return number;
}

function toSessionNumber(digest: u64): u32 {
  if (digest === 0) return 0;
  const known = find(sessions, digest);
  if (known !== NONE) return known;
  const number = addSession();
  put(sessions, digest, number);
  return number;
}

function hashText(entry: usize): u32 {
  const count = load<u32>(entry, ENTRY_TERMS);
  let number: u64 = 0;
  for (let i: u32 = 0; i < count; i++) number = mix(number, load<u64>(entry + ENTRY_HEAD + i * TERM_BYTES));
  return (number >> 32) as u32;
}

// An index entry stores a term as 64 bits: the digest in the upper 48 bits, the frequency in the lower 16. A label has
// the same format, with a frequency of 1.
function appendTerms(row: u32, entry: usize): void {
  const count = load<u32>(entry, ENTRY_TERMS) + load<u32>(entry, ENTRY_LABELS);
  liveTerms += count;
  addTermList(row, count);
  for (let i: u32 = 0; i < count; i++) {
    const term = load<u64>(entry + ENTRY_HEAD + i * TERM_BYTES);
    const number = toTermNumber(term >> 16);
    const frequency = (term & 0xffff) as u32;
    append(number, row, frequency);
    setTermOfRow(row, i, number, frequency);
  }
}

function toTermNumber(digest: u64): u32 {
  const known = find(terms, digest);
  if (known !== NONE) return known;
  const number = addTerm(digest);
  put(terms, digest, number);
  return number;
}

/** Number of rows removed since the index was created. */
export let removedRows: u32 = 0;
/** Number of removed rows whose postings are not swept yet. */
export let unsweptRows: u32 = 0;

/** Number of distinct terms and labels per row, summed over the live rows. */
export let liveTerms: u32 = 0;
/** Number of distinct terms and labels per row, summed over all removed rows. */
export let removedTerms: u32 = 0;

/** Removes a memory. No effect if the memory is not indexed. */
export function removeMemory(ordinal: f64): void {
  const row = findRow(ordinal);
  if (row !== NONE) removeRow(row);
}

function removeRow(row: u32): void {
  put(rows, get<f64>(row, ORDINAL) as u64, NONE);
  setCounted(row, false);
  set<u8>(row, LIVE, 0);
  leaveSession(row);
  dropVectors(row);
  liveTerms -= get<u32>(row, TERMS);
  removedTerms += get<u32>(row, TERMS);
  dropTermList(row);
  removedRows++;
  unsweptRows++;
}

/** Returns the row of a memory; NONE if the memory is not indexed. */
export function findRow(ordinal: f64): u32 {
  return find(rows, ordinal as u64);
}

/** Number of removed rows, or removed vectors, below which nothing is swept. */
const SWEPT_AT: u32 = 1024;
/**
 * A sweep needs a share of at least 1/`SWEPT_SHARE` removed rows among all rows, or removed vectors among all vectors.
 */
const SWEPT_SHARE: u32 = 16;
/** Number of terms that the current sweep has processed. */
let sweptTerms: u32 = 0;
/** Number of unswept rows when the current sweep began. */
let sweptRows: u32 = 0;

/**
 * Sweeps postings and vectors of removed memories if `SWEPT_AT` and `SWEPT_SHARE` are reached. Processes the postings
 * of at most `maxTerms` terms per call.
 */
export function sweepTerms(maxTerms: u32): void {
  if (removedVectors > SWEPT_AT && removedVectors * SWEPT_SHARE > vectorCount) closeGaps();
  if (sweptTerms === 0) {
    if (unsweptRows < SWEPT_AT || unsweptRows * SWEPT_SHARE < rowCount) return;
    sweptRows = unsweptRows;
  }
  const end = min<u32>(termCount, sweptTerms + maxTerms);
  while (sweptTerms < end) sweep(sweptTerms++);
  if (sweptTerms < termCount) return;
  sweptTerms = 0;
  unsweptRows -= sweptRows;
}
