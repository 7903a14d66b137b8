import { useLayoutEffect } from 'preact/compat';
import { createStore } from '../store.ts';

/** The first row of the table, as a part that can get the focus. Other numbers are column heads, counted from 1. */
export const FIRST_ROW = 0;

/** The part of the table that shall have the focus. */
const requested = createStore<number | undefined>(undefined);

/** Moves the focus to a part of the next table, as soon as its rows are loaded. */
export const requestFocus = (part: number): void => requested.set(part);

/** Calls `focus` once if the focus was requested and is not elsewhere meanwhile. */
export function useRequestedFocus(isLoaded: boolean, focus: (part: number) => void): void {
  const part = requested.use();
  const mustFocus = part !== undefined && isLoaded;
  // biome-ignore lint/correctness/useExhaustiveDependencies: acts once for each request
  useLayoutEffect(() => {
    if (!mustFocus) return;
    requested.set(undefined);
    if (document.activeElement?.matches('#search, main, body')) focus(part);
  }, [mustFocus]);
}
