import { useEffectEvent, useLayoutEffect } from 'preact/compat';
import { openMemory } from '../route.ts';
import { createStore } from '../store.ts';

/** The id of the memory whose text is edited as soon as it is open. */
const requested = createStore<string | undefined>(undefined);

/** Opens a memory beside the view and starts to edit its text, such as with the key `e` in a table. */
export function openToEdit(id: string): void {
  requested.set(id);
  openMemory(id);
}

/** Calls `edit` once if the edit of a memory was requested and is possible. A memory that is closed is not edited later. */
export function useRequestedEdit(id: string, isPossible: boolean, edit: () => void): void {
  const isRequested = requested.use() === id;
  const start = useEffectEvent(edit);
  // A layout effect, so that the next key goes to the form.
  useLayoutEffect(() => {
    if (isRequested && isPossible) start();
    if (isRequested) requested.set(undefined);
  }, [isRequested, isPossible]);
}
