import { useLayoutEffect } from 'preact/compat';
import { createStore } from '../store.ts';

const isRequested = createStore(false);

/** Moves the focus from the search field to the first row of the table, as soon as its rows are loaded. */
export const requestRowFocus = (): void => isRequested.set(true);

/** Calls `focusFirstRow` once if the focus was requested and is not elsewhere meanwhile. */
export function useRequestedFocus(isLoaded: boolean, focusFirstRow: () => void): void {
  const mustFocus = isRequested.use() && isLoaded;
  // biome-ignore lint/correctness/useExhaustiveDependencies: acts once for each request
  useLayoutEffect(() => {
    if (!mustFocus) return;
    isRequested.set(false);
    if (document.activeElement?.matches('#search, main, body')) focusFirstRow();
  }, [mustFocus]);
}
