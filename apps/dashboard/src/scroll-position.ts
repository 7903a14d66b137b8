import { getStored, setStored } from './browser-storage.ts';
import type { Snapshot } from './memories/rows.ts';

/** The scroll position of a list, anchored to a visible item so that it survives changes of the list. */
export interface ScrollPosition {
  /** The content of the list, as text; empty if a history entry has only one list. */
  list: string;
  key: string;
  index: number;
  /** Pixels from the top of the window to the top of the item. */
  top: number;
  /** Number of items that were loaded when the position was saved. */
  loaded: number;
  /** The item and the number of its link or button that had the focus. */
  focused: { key: string; control: number } | undefined;
}

/** Returns an id of the current history entry; Back, Forward and a reload return the same id. */
export function getHistoryEntryId(): string {
  const existing: string | undefined = history.state?.entry;
  if (existing !== undefined) return existing;
  // `crypto.randomUUID` is missing on pages that were loaded over HTTP from another machine.
  const entry = `${Date.now()}.${Math.random()}`;
  history.replaceState({ ...history.state, entry }, '');
  return entry;
}

/** Saves a list's position for the current history entry. */
export function saveScrollPosition(position: ScrollPosition): void {
  setStored('sessionStorage', `list ${getHistoryEntryId()}`, JSON.stringify(position));
}

/** Returns the saved position of a list in the current history entry, or undefined if there is none. */
export function loadScrollPosition(list: string): ScrollPosition | undefined {
  return loadPosition(list, `list ${getHistoryEntryId()}`);
}

/** The position of the table of memories. */
export interface TablePosition {
  /** Filter and order of the table, as text. */
  list: string;
  /** Pixels from the top of the first row to the top of the visible part. */
  top: number;
  /** Index of the row that has the tab stop. */
  active: number;
  /** Whether that row has the focus, or its memory is open. */
  hasFocus: boolean;
  /** The rows that the table shows. */
  snapshot: Snapshot;
}

/** Saves the position of the table for the current history entry. */
export function saveTablePosition(entry: string, position: TablePosition): void {
  setStored('sessionStorage', `table ${entry}`, JSON.stringify(position));
}

/**
 * Returns the saved position of a table in a history entry, or undefined if there is none: a table that is about to be
 * replaced may save its own position for the entry of the next one.
 */
export function loadTablePosition(entry: string, list: string): TablePosition | undefined {
  return loadPosition(list, `table ${entry}`);
}

function loadPosition<Position extends { list: string }>(list: string, name: string): Position | undefined {
  const text = getStored('sessionStorage', name);
  const saved: Position | undefined = text === undefined ? undefined : JSON.parse(text);
  return saved?.list === list ? saved : undefined;
}
