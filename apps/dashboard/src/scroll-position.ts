import { getStored, setStored } from './browser-storage.ts';

/** The scroll position of a list, anchored to a visible item so that it survives changes of the list. */
export interface ScrollPosition {
  key: string;
  index: number;
  /** Pixels from the top of the window to the top of the item. */
  top: number;
  /** Number of items that were loaded when the position was saved. */
  loaded: number;
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

/** Saves a list's position for a history entry, if that entry is still the current one. */
export function saveScrollPosition(entry: string, position: ScrollPosition): void {
  if (history.state?.entry === entry) setStored('sessionStorage', `list ${entry}`, JSON.stringify(position));
}

/** Returns the saved position of a history entry, or undefined for a new entry. */
export function loadScrollPosition(entry: string): ScrollPosition | undefined {
  const text = getStored('sessionStorage', `list ${entry}`);
  return text === undefined ? undefined : JSON.parse(text);
}
