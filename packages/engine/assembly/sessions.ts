import { addNumber, LIST_BYTES, numberAt } from './numbers';
import { CREATED_AT, get, NEXT, ORDINAL, PREVIOUS, SESSION, set } from './rows';
import { NONE } from './table';

/*
 * The order of rows in their sessions, by time of creation and then by ordinal, as a chain from each row to those
 * beside it. Memories mostly come in that order and join at the end. One that belongs far before it is postponed: the
 * host sorts it in, with all others that are, before the next question.
 */

/** In PREVIOUS: the row's place in its session is not known yet. */
const UNPLACED: u32 = 0xfffffffe;

/** Rows that are gone back from the end of a session before a row is postponed. */
const MAX_STEPS: u32 = 64;

const lastRowPages = memory.data(LIST_BYTES, 16);
const postponedPages = memory.data(LIST_BYTES, 16);

export let sessionCount: u32 = 0;
export let postponedCount: u32 = 0;

/** The number of a new session without rows, from 1. */
export function addSession(): u32 {
  addNumber(lastRowPages, sessionCount, NONE);
  return ++sessionCount;
}

export function lastRow(session: u32): u32 {
  return load<u32>(numberAt(lastRowPages, session - 1));
}

export function setLastRow(session: u32, row: u32): void {
  store<u32>(numberAt(lastRowPages, session - 1), row);
}

export function postponedRow(place: u32): u32 {
  return load<u32>(numberAt(postponedPages, place));
}

export function clearPostponed(): void {
  postponedCount = 0;
}

/** Puts two rows beside each other; either may be NONE, for an end. */
export function join(before: u32, after: u32): void {
  if (before !== NONE) set<u32>(before, NEXT, after);
  if (after !== NONE) set<u32>(after, PREVIOUS, before);
}

/** Gives a new row its place in its session, or postpones it. */
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
  join(before, row);
  join(row, after);
  if (after === NONE) setLastRow(session, row);
}

function isBefore(row: u32, other: u32): bool {
  const createdAt = get<f64>(row, CREATED_AT);
  const otherCreatedAt = get<f64>(other, CREATED_AT);
  if (createdAt !== otherCreatedAt) return createdAt < otherCreatedAt;
  return get<f64>(row, ORDINAL) < get<f64>(other, ORDINAL);
}

/** Takes a row out of its session. */
export function leaveSession(row: u32): void {
  const session = get<u32>(row, SESSION);
  const before = get<u32>(row, PREVIOUS);
  if (session === 0 || before === UNPLACED) return;
  const after = get<u32>(row, NEXT);
  join(before, after);
  if (after === NONE) setLastRow(session, before);
}
