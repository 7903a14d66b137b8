import { addNumber, getNumberAddress, LIST_BYTES } from './numbers';
import { CREATED_AT, get, NEXT, ORDINAL, PREVIOUS, SESSION, set } from './rows';
import { NONE } from './table';

/*
 * Sessions as doubly linked lists of rows, ordered by creation time and then ordinal. Most memories are stored in that
 * order, so their rows are appended. A row that belongs more than `MAX_STEPS` rows before the end is postponed. The
 * host inserts all postponed rows before the next query.
 */

/** Value of PREVIOUS while a row is postponed. */
const UNPLACED: u32 = 0xfffffffe;

/** Maximum steps back from the end of a session before a row is postponed. */
const MAX_STEPS: u32 = 64;

const lastRowPages = memory.data(LIST_BYTES, 16);
const postponedPages = memory.data(LIST_BYTES, 16);

export let sessionCount: u32 = 0;
export let postponedCount: u32 = 0;

/** Adds an empty session and returns its number, starting at 1. */
export function addSession(): u32 {
  addNumber(lastRowPages, sessionCount, NONE);
  return ++sessionCount;
}

export function lastRow(session: u32): u32 {
  return load<u32>(getNumberAddress(lastRowPages, session - 1));
}

export function setLastRow(session: u32, row: u32): void {
  store<u32>(getNumberAddress(lastRowPages, session - 1), row);
}

export function postponedRow(place: u32): u32 {
  return load<u32>(getNumberAddress(postponedPages, place));
}

export function clearPostponed(): void {
  postponedCount = 0;
}

/** Links two adjacent rows. `before` is NONE at the start of a session, `after` is NONE at the end. */
export function linkRows(before: u32, after: u32): void {
  if (before !== NONE) set<u32>(before, NEXT, after);
  if (after !== NONE) set<u32>(after, PREVIOUS, before);
}

/** Inserts a new row into its session, or postpones the row. */
export function enterSession(row: u32): void {
  const session = get<u32>(row, SESSION);
  set<u32>(row, PREVIOUS, NONE);
  set<u32>(row, NEXT, NONE);
  if (session === 0) return;
  let before = lastRow(session);
  let after = NONE;
  for (let step: u32 = 0; before !== NONE && isBefore(row, before); step++) {
    if (step === MAX_STEPS) {
      set<u32>(row, PREVIOUS, UNPLACED);
      addNumber(postponedPages, postponedCount++, row);
      return;
    }
    after = before;
    before = get<u32>(before, PREVIOUS);
  }
  linkRows(before, row);
  linkRows(row, after);
  if (after === NONE) setLastRow(session, row);
}

function isBefore(row: u32, other: u32): bool {
  const createdAt = get<f64>(row, CREATED_AT);
  const otherCreatedAt = get<f64>(other, CREATED_AT);
  if (createdAt !== otherCreatedAt) return createdAt < otherCreatedAt;
  return get<f64>(row, ORDINAL) < get<f64>(other, ORDINAL);
}

export function leaveSession(row: u32): void {
  const session = get<u32>(row, SESSION);
  const before = get<u32>(row, PREVIOUS);
  if (session === 0 || before === UNPLACED) return;
  const after = get<u32>(row, NEXT);
  linkRows(before, after);
  if (after === NONE) setLastRow(session, before);
}
