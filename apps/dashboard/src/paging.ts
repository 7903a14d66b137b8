import { useCallback, useEffect, useRef, useState } from 'preact/compat';
import { type Memories, useService } from './service.tsx';

/**
 * A page of a list. `total` is the number of items on all pages; `next` is the cursor of the next page, undefined on
 * the last page.
 */
interface Page<Item> {
  items: readonly Item[];
  total: number;
  next: string | undefined;
}

/** Loads the page at a cursor, or the first page if the cursor is undefined. */
export type LoadPage<Item> = (memory: Memories, cursor: string | undefined, signal: AbortSignal) => Promise<Page<Item>>;

interface Pages<Item> {
  items: readonly Item[];
  total: number;
  /** Whether the first page is loaded. */
  isLoaded: boolean;
  error: unknown;
  loadMore: () => void;
  /**
   * Loads the failed page again. If the first page has failed or all pages are loaded, loads the list from the
   * beginning. Does nothing while a page is loading.
   */
  retry: () => void;
}

const EMPTY = { items: [], total: 0, next: undefined, isLoaded: false, error: undefined };

/** Loads a list page by page. Pass a stable `load`; a new function starts a new list. */
export function usePages<Item>(load: LoadPage<Item>): Pages<Item> {
  const { memory, handleAuthError } = useService();
  const [state, setState] = useState<Page<Item> & { isLoaded: boolean; error: unknown }>(EMPTY);
  const [round, setRound] = useState(0);
  const pending = useRef<AbortController>(undefined);

  const loadPage = useCallback(
    (cursor: string | undefined) => {
      const controller = new AbortController();
      pending.current = controller;
      load(memory, cursor, controller.signal).then(
        (page) => {
          if (controller.signal.aborted) return;
          // Clears the pending request before the state changes, because rendering the new items may call `loadMore`.
          pending.current = undefined;
          setState(({ items }) => ({
            ...page,
            items: cursor === undefined ? page.items : [...items, ...page.items],
            isLoaded: true,
            error: undefined,
          }));
        },
        (error) => {
          if (controller.signal.aborted) return;
          pending.current = undefined;
          handleAuthError(error);
          setState((before) => ({ ...before, error }));
        },
      );
    },
    [load, memory, handleAuthError],
  );

  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of `round` reloads the list
  useEffect(() => {
    setState(EMPTY);
    loadPage(undefined);
    return () => {
      pending.current?.abort();
      pending.current = undefined;
    };
  }, [loadPage, round]);

  const { items, total, next, isLoaded, error } = state;
  const loadMore = useCallback(() => {
    if (next !== undefined && !pending.current && error === undefined) loadPage(next);
  }, [next, error, loadPage]);
  const retry = useCallback(() => {
    if (pending.current) return;
    if (isLoaded && next !== undefined) loadPage(next);
    else setRound((before) => before + 1);
  }, [isLoaded, next, loadPage]);
  return { items, total, isLoaded, error, loadMore, retry };
}
