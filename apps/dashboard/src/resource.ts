import type { MemoryEvent } from '@memoryd/client';
import { useCallback, useEffect, useState } from 'preact/compat';
import { type Memories, useService } from './service.tsx';
import { isTransient, useAnswerListener, useReloadOnEvents } from './watch.tsx';

/** Data from the service with its loading state. */
export interface Resource<T> {
  /** The last loaded value. Unchanged while a reload or a new `load` runs, and after a reload fails. */
  value: T | undefined;
  error: unknown;
  loading: boolean;
  reload(): void;
}

/** Loads a value; the signal aborts when the value is no longer needed. */
export type Load<T> = (memory: Memories, signal: AbortSignal) => Promise<T>;

interface State<T> extends Omit<Resource<T>, 'reload'> {
  /** The function that loaded `value`. */
  loadedBy: Load<T> | undefined;
}

const EMPTY = { value: undefined, loadedBy: undefined, error: undefined };

/**
 * Loads data when the component mounts and whenever `load` changes; a new `load` aborts the previous one. Wrap `load`
 * in `useCallback`. If `load` is undefined, nothing is loaded. After an outage, loads again what could not be loaded.
 *
 * @param isChangedBy returns whether an event changes the value, which is then loaded again
 */
export function useResource<T>(load: Load<T> | undefined, isChangedBy?: (event: MemoryEvent) => boolean): Resource<T> {
  const { memory, handleAuthError } = useService();
  const [{ loadedBy: _, ...state }, setState] = useState<State<T>>({ ...EMPTY, loading: true });
  const [round, setRound] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of `round` reloads the value
  useEffect(() => {
    if (!load) {
      setState({ ...EMPTY, loading: false });
      return;
    }
    const controller = new AbortController();
    setState((before) => ({ ...before, loading: true }));
    load(memory, controller.signal).then(
      (value) => {
        if (!controller.signal.aborted) setState({ value, loadedBy: load, error: undefined, loading: false });
      },
      (error) => {
        if (controller.signal.aborted) return;
        handleAuthError(error);
        // The value of a previous `load` must not be shown together with this error.
        setState((before) => ({ ...(before.loadedBy === load ? before : EMPTY), error, loading: false }));
      },
    );
    return () => controller.abort();
  }, [load, memory, round]);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  useAnswerListener(() => {
    if (!state.loading && isTransient(state.error)) reload();
  });
  useReloadOnEvents(load && isChangedBy, reload, () => state.loading);
  return { ...state, reload };
}
