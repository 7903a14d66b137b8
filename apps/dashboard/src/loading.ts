import { useCallback, useEffect, useRef, useState } from 'react';
import { type Memories, useService } from './service.tsx';

/** Something asked of the service: what came last, and what is under way. */
export interface Loaded<T> {
  /** What came last; stays while it, or something else, is asked for, and where asking for it again fails. */
  value: T | undefined;
  error: unknown;
  loading: boolean;
  /** Asks again. */
  reload(): void;
}

/** What is asked, and how: anything that changes asks anew, and breaks off what was under way. */
export type Ask<T> = (memory: Memories, signal: AbortSignal) => Promise<T>;

interface State<T> extends Omit<Loaded<T>, 'reload'> {
  /** What `value` is the answer to. */
  answered: Ask<T> | undefined;
}

const NOTHING = { value: undefined, answered: undefined, error: undefined };

/**
 * Asks the service when shown and whenever `ask` is another function, which `useCallback` keeps. An earlier answer never
 * takes the place of a later one. `undefined` asks for nothing.
 */
export function useLoaded<T>(ask: Ask<T> | undefined): Loaded<T> {
  const { memory, noteRefusal } = useService();
  const [{ answered, ...state }, setState] = useState<State<T>>({ ...NOTHING, loading: true });
  const [round, setRound] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round asks the same again
  useEffect(() => {
    if (!ask) {
      setState({ ...NOTHING, loading: false });
      return;
    }
    const stop = new AbortController();
    setState((before) => ({ ...before, loading: true }));
    ask(memory, stop.signal).then(
      (value) => {
        if (!stop.signal.aborted) setState({ value, answered: ask, error: undefined, loading: false });
      },
      (error) => {
        if (stop.signal.aborted) return;
        noteRefusal(error);
        // Beside what went wrong, an answer to something else would be taken for the one to this.
        setState((before) => ({ ...(before.answered === ask ? before : NOTHING), error, loading: false }));
      },
    );
    return () => stop.abort();
  }, [ask, memory, round]);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  return { ...state, reload };
}

/**
 * What somebody types, and what takes it: `write` is called with it when no key was struck for a while. Where the value
 * changes by other means, that is what stands there.
 */
export function useTyped(value: string, write: (text: string) => void, afterMs: number) {
  const [typed, setTyped] = useState(value);
  const written = useRef(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    if (value === written.current) return;
    written.current = value;
    setTyped(value);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (text: string) => {
    setTyped(text);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      written.current = text.trim();
      write(text.trim());
    }, afterMs);
  };
  return [typed, type] as const;
}
