import type { HealthResponse, MemoryEvent, StatsResponse } from '@memoryd/client';
import { MemoryError } from '@memoryd/client';
import { createContext, type ReactNode, useCallback, useContext, useEffect, useRef, useState } from 'preact/compat';
import { type StreamState, useEvents } from './events.ts';
import { type Memories, useService } from './service.tsx';

const POLL_INTERVAL_MS = 5000;
/** Maximum number of samples: ten minutes of polls. */
const MAX_SAMPLES = 120;
const MAX_EVENTS = 50;

/** Measurements of one poll. Latencies cover the 5 minutes before the poll. */
interface Sample {
  at: number;
  p50Ms: number | null;
  p99Ms: number | null;
  /**
   * Recalls per second since the previous sample, of memories in the current scope. Null without a previous sample, or
   * if that sample is less than 1 s old.
   */
  recallsPerSecond: number | null;
}

/** The state of the service since the page was opened. */
interface Watch {
  stats: StatsResponse | undefined;
  /** Stats of the first poll. */
  firstStats: StatsResponse | undefined;
  health: HealthResponse | undefined;
  samples: readonly Sample[];
  /** Newest first. */
  events: readonly MemoryEvent[];
  streamState: StreamState;
  /**
   * Time of the first unanswered poll since the last response, in ms since 1970; undefined while the service responds.
   */
  unreachableSince: number | undefined;
  /** Whether this API key may read latencies. */
  canReadLatency: boolean;
  error: unknown;
  reload: () => void;
}

const WatchContext = createContext<Watch | undefined>(undefined);

type PolledState = Pick<
  Watch,
  'stats' | 'firstStats' | 'health' | 'samples' | 'canReadLatency' | 'unreachableSince' | 'error'
>;

const INITIAL_STATE: PolledState = {
  stats: undefined,
  firstStats: undefined,
  health: undefined,
  samples: [],
  canReadLatency: true,
  unreachableSince: undefined,
  error: undefined,
};

/** Polls the service and follows its events while the page is open, and provides the result to all views. */
export function WatchProvider({ children }: { children: ReactNode }) {
  const { memory, handleAuthError } = useService();
  const [state, setState] = useState(INITIAL_STATE);
  const [events, setEvents] = useState<readonly MemoryEvent[]>([]);
  const recalls = useRef(0);
  const lastPollAt = useRef(0);

  const poll = useCallback(
    async (signal: AbortSignal) => {
      const now = Date.now();
      try {
        const result = await fetchState(memory, signal);
        if (signal.aborted) return;
        const seconds = (now - lastPollAt.current) / 1000;
        const recallsPerSecond = lastPollAt.current === 0 || seconds < 1 ? null : recalls.current / seconds;
        recalls.current = 0;
        lastPollAt.current = now;
        setState((before) => withPoll(before, result, { at: now, recallsPerSecond }));
      } catch (error) {
        if (signal.aborted) return;
        handleAuthError(error);
        setState((before) => withFailure(before, error, now));
      }
    },
    [memory, handleAuthError],
  );

  const [round, setRound] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of `round` polls at once
  useEffect(() => {
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
  }, [poll, round]);

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
  const streamState = useEvents(state.unreachableSince === undefined, (batch) => {
    recalls.current += batch.filter(({ type }) => type === 'recalled').length;
    setEvents((before) => [...batch.toReversed(), ...before].slice(0, MAX_EVENTS));
    if (batch.some(changesCounts)) refreshStats();
  });
  const watch = { ...state, events, streamState, reload };
  return <WatchContext.Provider value={watch}>{children}</WatchContext.Provider>;
}

export function useWatch(): Watch {
  const watch = useContext(WatchContext);
  if (!watch) throw new Error('useWatch must be used within <WatchProvider>');
  return watch;
}

function changesCounts({ type }: MemoryEvent): boolean {
  return type === 'stored' || type === 'forgotten' || type === 'consolidation' || type === 'gap';
}

interface Poll {
  stats: StatsResponse;
  health: HealthResponse;
  /** Undefined if the API key may not read metrics. */
  metrics: string | undefined;
}

async function fetchState(memory: Memories, signal: AbortSignal): Promise<Poll> {
  const [stats, health, metrics] = await Promise.all([
    memory.stats({ signal }),
    memory.health({ signal }),
    memory.metrics({ signal }).catch((error: unknown) => {
      if (error instanceof MemoryError && error.code === 'FORBIDDEN') return undefined;
      throw error;
    }),
  ]);
  return { stats, health, metrics };
}

function withPoll(
  before: PolledState,
  { stats, health, metrics }: Poll,
  times: Pick<Sample, 'at' | 'recallsPerSecond'>,
): PolledState {
  const sample = { ...times, p50Ms: parseLatency(metrics, '0.5'), p99Ms: parseLatency(metrics, '0.99') };
  return {
    stats,
    firstStats: before.firstStats ?? stats,
    health,
    samples: [...before.samples, sample].slice(-MAX_SAMPLES),
    canReadLatency: metrics !== undefined,
    unreachableSince: undefined,
    error: undefined,
  };
}

function withFailure(before: PolledState, error: unknown, at: number): PolledState {
  const isUnanswered = error instanceof MemoryError && error.isUnanswered;
  return { ...before, error, unreachableSince: isUnanswered ? (before.unreachableSince ?? at) : undefined };
}

/** Returns a quantile of the recall latency in ms; null if the metrics are missing or contain no recent recalls. */
function parseLatency(metrics: string | undefined, quantile: string): number | null {
  const line = metrics?.split('\n').find((one) => one.startsWith(`service_query_latency_ms{quantile="${quantile}"}`));
  const value = Number(line?.split(' ')[1]);
  return Number.isFinite(value) && value > 0 ? value : null;
}
