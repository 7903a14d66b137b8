import { useCallback, useEffect, useRef, useState } from 'react';
import { type Memories, useService } from './service.tsx';

/** One page of a list. */
interface Page<Item> {
  items: readonly Item[];
  total: number;
  next: string | undefined;
}

/** Asks for the page at a cursor, or for the first one. */
export type AskPage<Item> = (memory: Memories, cursor: string | undefined, signal: AbortSignal) => Promise<Page<Item>>;

interface Pages<Item> {
  items: readonly Item[];
  total: number;
  /** Whether the first page is there. */
  begun: boolean;
  error: unknown;
  loadMore: () => void;
  /** Asks again for what failed: the page that is missing, or the first one. */
  retry: () => void;
}

const NONE = { items: [], total: 0, next: undefined, begun: false, error: undefined };

/** A list that comes in pages, as far as it was asked for. Another `ask` begins another list. */
export function usePages<Item>(ask: AskPage<Item>): Pages<Item> {
  const { memory, noteRefusal } = useService();
  const [state, setState] = useState<Page<Item> & { begun: boolean; error: unknown }>(NONE);
  const [round, setRound] = useState(0);
  const asking = useRef<AbortController>(undefined);

  const load = useCallback(
    (cursor: string | undefined) => {
      const stop = new AbortController();
      asking.current = stop;
      ask(memory, cursor, stop.signal)
        .then(
          (page) => {
            if (stop.signal.aborted) return;
            setState(({ items }) => ({
              ...page,
              items: cursor === undefined ? page.items : [...items, ...page.items],
              begun: true,
              error: undefined,
            }));
          },
          (error) => {
            if (stop.signal.aborted) return;
            noteRefusal(error);
            setState((before) => ({ ...before, error }));
          },
        )
        .finally(() => {
          if (asking.current === stop) asking.current = undefined;
        });
    },
    [ask, memory, noteRefusal],
  );

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round asks the same again
  useEffect(() => {
    setState(NONE);
    load(undefined);
    return () => {
      asking.current?.abort();
      asking.current = undefined;
    };
  }, [load, round]);

  const { items, total, next, begun, error } = state;
  const loadMore = useCallback(() => {
    if (next !== undefined && !asking.current && error === undefined) load(next);
  }, [next, error, load]);
  const retry = useCallback(() => {
    if (asking.current) return;
    if (begun && next !== undefined) load(next);
    else setRound((before) => before + 1);
  }, [begun, next, load]);
  return { items, total, begun, error, loadMore, retry };
}
