import { getStored, setStored } from './browser-storage.ts';
import type { Snapshot } from './memories/rows.ts';

/** The scroll position of a list, anchored to a visible item so that it survives changes of the list. */
export interface ScrollPosition {
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

/** Returns the saved position of the current history entry, or undefined for a new entry. */
export function loadScrollPosition(): ScrollPosition | undefined {
  const text = getStored('sessionStorage', `list ${getHistoryEntryId()}`);
  return text === undefined ? undefined : JSON.parse(text);
}

/** The position of the table of memories. */
export interface TablePosition {
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

/** Returns the saved position of a history entry, or undefined for a new entry. */
export function loadTablePosition(entry: string): TablePosition | undefined {
  const text = getStored('sessionStorage', `table ${entry}`);
  return text === undefined ? undefined : JSON.parse(text);
}
