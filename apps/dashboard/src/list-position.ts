import { keep, kept } from './kept.ts';

/** Where a list is scrolled to: an item in sight, by which the place is found again when the list has changed. */
export interface ListPosition {
  key: string;
  index: number;
  /** Pixels of the item's top below that of the window. */
  top: number;
  /** Items of the list that were loaded. */
  loaded: number;
}

/** Returns the name of the current entry of the browser's history: the same when Back, Forward or a reload leads to it. */
export function nameEntry(): string {
  const named: string | undefined = history.state?.entry;
  if (named !== undefined) return named;
  // `crypto.randomUUID` is absent on a page that came over HTTP from another machine.
  const entry = `${Date.now()}.${Math.random()}`;
  history.replaceState({ ...history.state, entry }, '');
  return entry;
}

/** Keeps a list's position for a history entry, unless the page shows another entry by now. */
export function keepPosition(entry: string, position: ListPosition): void {
  if (history.state?.entry === entry) keep('sessionStorage', `list ${entry}`, JSON.stringify(position));
}

/** Returns the position that was kept for a history entry; undefined when the entry is new. */
export function keptPosition(entry: string): ListPosition | undefined {
  const text = kept('sessionStorage', `list ${entry}`);
  return text === undefined ? undefined : JSON.parse(text);
}
