import { useEffect } from 'preact/compat';
import { createStore } from '../store.ts';

/** Returns the id of the memory `step` places after a memory in the list of the view; undefined if there is none. */
type FindNeighbor = (id: string, step: 1 | -1) => string | undefined;

/** The order of the memories in the view that is shown; undefined for a view without a list. */
export const listOrder = createStore<FindNeighbor | undefined>(undefined);

/** Sets the order of the memories in a view, for the panel's buttons “Previous” and “Next”. Pass a stable function. */
export function useProvideListOrder(find: FindNeighbor): void {
  useEffect(() => {
    listOrder.set(find);
    return () => listOrder.set(undefined);
  }, [find]);
}
