import { limitMemory } from './memory';
import { addNumber, LIST_BYTES, numberAt } from './numbers';
import { addTerm, append, sweep, termCount } from './postings';
import {
  addRow,
  COUNTED,
  CREATED_AT,
  get,
  IMPORTANCE,
  LENGTH,
  LIVE,
  MARKS,
  NAMESPACE,
  ORDINAL,
  REVISION,
  rowCount,
  SESSION,
  SPEAKER,
  STORED_AT,
  SUPERSEDED,
  set,
  setExpiry,
  TERMS,
  TEXT,
  TIER,
} from './rows';
import { addSession, enterSession, leaveSession } from './sessions';
import { clearTable, find, mix, NONE, put, Table } from './table';
import { addTermList, dropTermList, setTermOfRow } from './terms-of-row';
import { closeGaps, deadVectors, dropVectors, setDimensions, setVectors, vectorCount } from './vectors';

/* Memories as they come and go. */

const TABLE_BYTES = 16;
export const terms: Table = clearTable(memory.data(TABLE_BYTES, 16));
const rows: Table = clearTable(memory.data(TABLE_BYTES, 16));
export const namespaces: Table = clearTable(memory.data(TABLE_BYTES, 16));
export const sessions: Table = clearTable(memory.data(TABLE_BYTES, 16));

export let model: u32 = 0;
/** What BM25 adds to a frequency in a text without terms, for each term of it, and at most. */
export let leastDamping: f32 = 0;
export let dampingPerTerm: f32 = 0;
export let mostDamping: f32 = 0;

/**
 * To be called once, before all else.
 *
 * @param modelNumber the model whose vectors are taken
 * @param modelDimensions of its vectors
 * @param least see `leastDamping`
 * @param perTerm see `dampingPerTerm`
 * @param most see `mostDamping`
 * @param mostBytes of memory
 */
export function open(
  modelNumber: u32,
  modelDimensions: u32,
  least: f32,
  perTerm: f32,
  most: f32,
  mostBytes: u32,
): void {
  limitMemory(mostBytes);
  model = modelNumber;
  setDimensions(modelDimensions);
  leastDamping = least;
  dampingPerTerm = perTerm;
  mostDamping = most;
}

/** Fields of an entry, by their place in it (see entry.ts). */
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

/** Takes in a memory's entry, new or changed. A new one is episodic and does not expire. */
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
  set<u32>(row, TEXT, textNumber(entry));
  set<u32>(row, SPEAKER, load<u32>(entry, ENTRY_SPEAKER));
  set<u16>(row, MARKS, load<u16>(entry, ENTRY_MARKS));
  set<f64>(row, STORED_AT, load<f64>(entry, ENTRY_STORED_AT));
  set<f32>(row, IMPORTANCE, load<f32>(entry, ENTRY_IMPORTANCE));
  set<u8>(row, LIVE, 1);
  set<u8>(row, COUNTED, 1);
  addCounted(row, 1);
  appendTerms(row, entry);
  enterSession(row);
  return row;
}

/** Sets what changes of a memory while its entry stays, if it is in. */
export function setState(ordinal: f64, tier: u32, expiresAt: f64, superseded: bool): void {
  const row = rowOfOrdinal(ordinal);
  if (row === NONE) return;
  set<u8>(row, TIER, tier as u8);
  setCounted(row, tier !== SEMANTIC);
  set<u8>(row, SUPERSEDED, superseded ? 1 : 0);
  setExpiry(row, expiresAt);
}

/** How the host spells the tier of what is distilled. */
const SEMANTIC: u32 = 2;

/** How often a row that was in came to be counted, or ceased to be. */
export let countedChanges: u32 = 0;

function setCounted(row: u32, counted: bool): void {
  if ((get<u8>(row, COUNTED) !== 0) === counted) return;
  set<u8>(row, COUNTED, counted ? 1 : 0);
  addCounted(row, counted ? 1 : -1);
  countedChanges++;
}

/** By a namespace's number less one: how many of its rows are counted, those hidden only by their expiry included. */
const countedPages = memory.data(LIST_BYTES, 16);

function addCounted(row: u32, more: i32): void {
  const at = numberAt(countedPages, get<u32>(row, NAMESPACE) - 1);
  store<u32>(at, load<u32>(at) + more);
}

export function countedRows(namespace: u32): u32 {
  return namespace === NONE ? 0 : load<u32>(numberAt(countedPages, namespace - 1));
}

function namespaceNumber(digest: u64): u32 {
  const known = find(namespaces, digest);
  if (known !== NONE) return known;
  const number = namespaces.used + 1;
  addNumber(countedPages, number - 1, 0);
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

function textNumber(entry: usize): u32 {
  const count = load<u32>(entry, ENTRY_TERMS);
  let number: u64 = 0;
  for (let i: u32 = 0; i < count; i++) number = mix(number, load<u64>(entry + ENTRY_HEAD + i * TERM_BYTES));
  return (number >> 32) as u32;
}

// A term is a digest (48 bits) above its frequency (16 bits); so is a label, whose frequency is 1.
function appendTerms(row: u32, entry: usize): void {
  const count = load<u32>(entry, ENTRY_TERMS) + load<u32>(entry, ENTRY_LABELS);
  heldTerms += count;
  addTermList(row, count);
  for (let i: u32 = 0; i < count; i++) {
    const term = load<u64>(entry + ENTRY_HEAD + i * TERM_BYTES);
    const number = termNumber(term >> 16);
    const frequency = (term & 0xffff) as u32;
    append(number, row, frequency);
    setTermOfRow(row, i, number, frequency);
  }
}

function termNumber(digest: u64): u32 {
  const known = find(terms, digest);
  if (known !== NONE) return known;
  const number = addTerm(digest);
  put(terms, digest, number);
  return number;
}

/** Rows whose memories are gone: all there have been, and those whose postings are still there. */
export let goneRows: u32 = 0;
export let deadRows: u32 = 0;

/** Terms and labels of rows, each once a row: of those in recall, and of all whose memories are gone. */
export let heldTerms: u32 = 0;
export let goneTerms: u32 = 0;

/** Takes a memory out, if it is in. */
export function takeOut(ordinal: f64): void {
  const row = rowOfOrdinal(ordinal);
  if (row !== NONE) remove(row);
}

function remove(row: u32): void {
  put(rows, get<f64>(row, ORDINAL) as u64, NONE);
  setCounted(row, false);
  set<u8>(row, LIVE, 0);
  leaveSession(row);
  dropVectors(row);
  heldTerms -= get<u32>(row, TERMS);
  goneTerms += get<u32>(row, TERMS);
  dropTermList(row);
  goneRows++;
  deadRows++;
}

/** The row of a memory that is in; NONE where it is not. */
export function rowOfOrdinal(ordinal: f64): u32 {
  return find(rows, ordinal as u64);
}

/** What is dead is cleared where it is so much, and one part of so many of all. */
const SWEPT_AT: u32 = 1024;
const SWEPT_SHARE: u32 = 16;
/** Terms that the sweep under way has been at, and rows that were dead when it began. */
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
