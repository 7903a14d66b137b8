import type { MemoryEvent } from '@memoryd/client';
import { useCallback, useEffect, useEffectEvent, useRef, useState } from 'preact/compat';
import { type Memories, useService } from './service.tsx';
import { isTransient, useAnswerListener, useReloadOnEvents } from './watch.tsx';

/**
 * A page of a list. `total` is the number of items on all pages; `next` is the cursor of the next page, undefined on
 * the last page.
 */
interface Page<Item> {
  items: readonly Item[];
  total: number;
  next: string | undefined;
}

/** The cursor of a page as a field of a request; empty for the first page. */
interface Place {
  cursor?: string;
}

/** Loads a page. */
export type LoadPage<Item> = (memory: Memories, place: Place, signal: AbortSignal) => Promise<Page<Item>>;

/** A list with its loading state. */
export interface Pages<Item> {
  items: readonly Item[];
  total: number;
  /** Whether the first page is loaded. */
  isLoaded: boolean;
  error: unknown;
  /**
   * Whether the list has changed in the service, and is too long to be loaded again without being asked for. `retry`
   * does so.
   */
  isOutdated: boolean;
  loadMore: () => void;
  /**
   * Loads the failed page again. If the first page has failed or all pages are loaded, loads the list from the
   * beginning. Does nothing while a page is loading.
   */
  retry: () => void;
}

const toPlace = (cursor: string | undefined): Place => (cursor === undefined ? {} : { cursor });

/** Maximum number of pages that an event loads again. */
const MAX_REFRESHED_PAGES = 3;

interface State<Item> extends Page<Item> {
  pages: number;
  isLoaded: boolean;
  isOutdated: boolean;
  error: unknown;
}

const EMPTY = {
  items: [],
  total: 0,
  next: undefined,
  pages: 0,
  isLoaded: false,
  isOutdated: false,
  error: undefined,
};

/**
 * Loads a list page by page. Pass a stable `load`; a new function starts a new list. After an outage, loads again what
 * could not be loaded; until then, the list keeps its items.
 *
 * @param isChangedBy returns whether an event changes the list, which is then loaded again. Its items are shown until
 *   then. Undefined keeps the items, even if they are being loaded again because of an earlier event
 */
export function usePages<Item>(load: LoadPage<Item>, isChangedBy?: (event: MemoryEvent) => boolean): Pages<Item> {
  const { memory, handleAuthError } = useService();
  const [state, setState] = useState<State<Item>>(EMPTY);
  const pending = useRef<AbortController>(undefined);

  /** Runs one request for items at a time, and sets the state that it returns. */
  const run = useCallback(
    (fetchState: (signal: AbortSignal) => Promise<(before: State<Item>) => State<Item>>) => {
      const controller = new AbortController();
      pending.current = controller;
      fetchState(controller.signal).then(
        (getNext) => {
          if (controller.signal.aborted) return;
          // Clears the pending request before the state changes, because rendering the new items may call `loadMore`.
          pending.current = undefined;
          setState(getNext);
        },
        (error) => {
          if (controller.signal.aborted) return;
          pending.current = undefined;
          handleAuthError(error);
          setState((before) => ({ ...before, error }));
        },
      );
    },
    [handleAuthError],
  );

  const loadPage = useCallback(
    (cursor: string | undefined) =>
      run(async (signal) => {
        const page = await load(memory, toPlace(cursor), signal);
        return (before) => ({
          ...page,
          items: cursor === undefined ? page.items : [...before.items, ...page.items],
          pages: cursor === undefined ? 1 : before.pages + 1,
          isLoaded: true,
          isOutdated: cursor === undefined ? false : before.isOutdated,
          error: undefined,
        });
      }),
    [run, load, memory],
  );

  const isReplaceable = useEffectEvent(() => isChangedBy !== undefined);
  /** Loads as many pages as before, and then replaces all items at once. */
  const loadAgain = useCallback(
    (pages: number) =>
      run(async (signal) => {
        let page = await load(memory, {}, signal);
        const items = [...page.items];
        let count = 1;
        for (; count < pages && page.next !== undefined; count++) {
          page = await load(memory, toPlace(page.next), signal);
          items.push(...page.items);
        }
        const loaded = { ...page, items, pages: count, isLoaded: true, isOutdated: false, error: undefined };
        return (before) => (isReplaceable() ? loaded : before);
      }),
    [run, load, memory],
  );

  useEffect(() => {
    setState(EMPTY);
    loadPage(undefined);
    return () => {
      pending.current?.abort();
      pending.current = undefined;
    };
  }, [loadPage]);

  const { items, total, next, pages, isLoaded, isOutdated, error } = state;
  const loadMore = useCallback(() => {
    if (next !== undefined && !pending.current && error === undefined) loadPage(next);
  }, [next, error, loadPage]);
  const retry = useCallback(() => {
    if (pending.current) return;
    if (!isLoaded || isOutdated || next === undefined) loadPage(undefined);
    else loadPage(next);
  }, [isLoaded, isOutdated, next, loadPage]);
  useAnswerListener(() => {
    if (isTransient(error)) retry();
  });
  useReloadOnEvents(
    isChangedBy,
    () => {
      if (pages > MAX_REFRESHED_PAGES) setState((before) => ({ ...before, isOutdated: true }));
      else loadAgain(Math.max(1, pages));
    },
    () => pending.current !== undefined,
  );
  return { items, total, isLoaded, isOutdated, error, loadMore, retry };
}
