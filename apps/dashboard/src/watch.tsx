import type { HealthResponse, MemoryEvent, StatsResponse } from '@memoryd/client';
import { MemoryError } from '@memoryd/client';
import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useEffectEvent,
  useRef,
  useState,
} from 'preact/compat';
import { type StreamState, useEvents } from './events.ts';
import { useService } from './service.tsx';

const POLL_INTERVAL_MS = 5000;
/** The state of the service. */
interface Watch {
  stats: StatsResponse | undefined;
  health: HealthResponse | undefined;
  streamState: StreamState;
  /**
   * Time of the first unanswered poll since the last response, in ms since 1970; undefined while the service responds.
   */
  unreachableSince: number | undefined;
  /** Whether the page waits for an API key or a valid scope, and sends nothing. */
  isPaused: boolean;
  error: unknown;
  reload: () => void;
}

const WatchContext = createContext<Watch | undefined>(undefined);

type EventListener = (events: readonly MemoryEvent[]) => void;

/** The listeners of views and lists. Does not change, so that polls and events render only the views that show them. */
interface Signals {
  events: Set<EventListener>;
  /** Called when the service has answered a poll. */
  answers: Set<() => void>;
}

const SignalsContext = createContext<Signals | undefined>(undefined);

type PolledState = Pick<Watch, 'stats' | 'health' | 'unreachableSince' | 'error'>;

const INITIAL_STATE: PolledState = {
  stats: undefined,
  health: undefined,
  unreachableSince: undefined,
  error: undefined,
};

interface WatchProviderProps {
  /** Whether to send no requests. */
  isPaused: boolean;
  children: ReactNode;
}

/** Polls the service and follows its events while the page is open, and provides the result to all views. */
export function WatchProvider({ isPaused, children }: WatchProviderProps) {
  const { memory, handleAuthError } = useService();
  const [signals] = useState((): Signals => ({ events: new Set(), answers: new Set() }));
  const [state, setState] = useState(INITIAL_STATE);

  const poll = useCallback(
    async (signal: AbortSignal) => {
      const now = Date.now();
      try {
        const [stats, health] = await Promise.all([memory.stats({ signal }), memory.health({ signal })]);
        if (signal.aborted) return;
        setState({ stats, health, unreachableSince: undefined, error: undefined });
        for (const listener of signals.answers) listener();
      } catch (error) {
        if (signal.aborted) return;
        handleAuthError(error);
        setState((before) => withFailure(before, error, now));
      }
    },
    [memory, handleAuthError, signals],
  );

  const [round, setRound] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of `round` polls at once
  useEffect(() => {
    if (isPaused) return;
    const controller = new AbortController();
    let isPolling = false;
    // One poll at a time: with a slow service, concurrent polls would occupy the connections that the views need.
    const pollOnce = async () => {
      if (isPolling) return;
      isPolling = true;
      await poll(controller.signal);
      isPolling = false;
    };
    void pollOnce();
    const timer = setInterval(() => {
      if (!document.hidden) void pollOnce();
    }, POLL_INTERVAL_MS);
    return () => {
      clearInterval(timer);
      controller.abort();
    };
  }, [poll, round, isPaused]);

  const reload = useCallback(() => setRound((before) => before + 1), []);
  const isCounting = useRef(false);
  const refreshStats = () => {
    // Sends no second request while a request is pending. The next poll shows changes that the pending request misses.
    if (isCounting.current) return;
    isCounting.current = true;
    memory
      .stats()
      .then((stats) => setState((before) => ({ ...before, stats })), handleAuthError)
      .finally(() => {
        isCounting.current = false;
      });
  };
  const streamState = useEvents(!isPaused && state.unreachableSince === undefined, (batch) => {
    if (batch.some(changesCounts)) refreshStats();
    for (const listener of signals.events) listener(batch);
  });
  const watch = { ...state, streamState, isPaused, reload };
  return (
    <SignalsContext.Provider value={signals}>
      <WatchContext.Provider value={watch}>{children}</WatchContext.Provider>
    </SignalsContext.Provider>
  );
}

export function useWatch(): Watch {
  const watch = useContext(WatchContext);
  if (!watch) throw new Error('useWatch must be used within <WatchProvider>');
  return watch;
}

function useSignal<Signal extends (...args: never[]) => void>(
  select: (signals: Signals) => Set<Signal>,
  listener: Signal,
) {
  const signals = useContext(SignalsContext);
  if (!signals) throw new Error('useEventListener must be used within <WatchProvider>');
  const listeners = select(signals);
  const call = useEffectEvent(listener);
  useEffect(() => {
    const added = ((...args) => call(...args)) as Signal;
    listeners.add(added);
    return () => void listeners.delete(added);
  }, [listeners]);
}

/**
 * Calls the listener with the events of the current scope while the component is mounted: all events of half a second
 * together, oldest first. A `gap` event means that events are missing, so the component must load its data again.
 */
export function useEventListener(listener: EventListener): void {
  useSignal((signals) => signals.events, listener);
}

/** Calls the listener each time the service has answered a poll, every five seconds while it is reachable. */
export function useAnswerListener(listener: () => void): void {
  useSignal((signals) => signals.answers, listener);
}

/** Interval at which events reload the data of a component at most. */
const MIN_RELOAD_INTERVAL_MS = 2000;

/**
 * Calls `reload` after events that change the data of a component, and after a `gap`. Calls it soon after the first such
 * event, and then at most every two seconds.
 *
 * @param isLoading returns whether the data is being loaded. An event then waits for the response, which may lack its
 *   change, so that frequent events do not abort each load
 */
export function useReloadOnEvents(
  isChangedBy: ((event: MemoryEvent) => boolean) | undefined,
  reload: () => void,
  isLoading: () => boolean,
): void {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const reloadedAt = useRef(0);
  const run = useEffectEvent(() => {
    timer.current = isLoading() ? setTimeout(() => run(), MIN_RELOAD_INTERVAL_MS) : undefined;
    if (timer.current !== undefined) return;
    if (!isChangedBy) return;
    reloadedAt.current = Date.now();
    reload();
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  useEventListener((events) => {
    if (!isChangedBy || timer.current !== undefined) return;
    if (!events.some((event) => event.type === 'gap' || isChangedBy(event))) return;
    const delayMs = Math.max(0, reloadedAt.current + MIN_RELOAD_INTERVAL_MS - Date.now());
    timer.current = setTimeout(() => run(), delayMs);
  });
}

/** Returns whether an error may disappear by itself: the service was unreachable, overloaded or starting. */
export const isTransient = (error: unknown): boolean => error instanceof MemoryError && error.code === 'UNAVAILABLE';

function changesCounts({ type }: MemoryEvent): boolean {
  return type === 'stored' || type === 'forgotten' || type === 'consolidation' || type === 'gap';
}

function withFailure(before: PolledState, error: unknown, at: number): PolledState {
  const isUnanswered = error instanceof MemoryError && error.isUnanswered;
  return { ...before, error, unreachableSince: isUnanswered ? (before.unreachableSince ?? at) : undefined };
}
