import type { HealthResponse, MemoryEvent, StatsResponse } from '@memoryd/client';
import { MemoryError } from '@memoryd/client';
import { createContext, type ReactNode, useCallback, useContext, useEffect, useRef, useState } from 'react';
import { type Hearing, useEvents } from './events.ts';
import { type Memories, useService } from './service.tsx';

const LOOKED_EVERY_MS = 5000;
/** Ten minutes. */
const SAMPLES_KEPT = 120;
const EVENTS_KEPT = 50;

/** What was seen of the service at one moment. Latencies are those of the five minutes before it. */
interface Sample {
  at: number;
  p50Ms: number | null;
  p99Ms: number | null;
  /** Recalls in this namespace since the sample before. */
  recallsPerSecond: number | null;
}

/** What is known of the service since the page was opened. */
interface Watch {
  stats: StatsResponse | undefined;
  /** Counts when the page was opened. */
  first: StatsResponse | undefined;
  health: HealthResponse | undefined;
  samples: readonly Sample[];
  /** Newest first. */
  events: readonly MemoryEvent[];
  hearing: Hearing;
  /** When the service first gave no answer, in milliseconds since 1970; undefined while it answers. */
  awaySince: number | undefined;
  /** Whether latencies are told to this key. */
  maySeeLatency: boolean;
  error: unknown;
  reload: () => void;
}

const WatchContext = createContext<Watch | undefined>(undefined);

interface Seen
  extends Pick<Watch, 'stats' | 'first' | 'health' | 'samples' | 'maySeeLatency' | 'awaySince' | 'error'> {}

const NOTHING_SEEN: Seen = {
  stats: undefined,
  first: undefined,
  health: undefined,
  samples: [],
  maySeeLatency: true,
  awaySince: undefined,
  error: undefined,
};

/** Watches the service for as long as the page is open, whichever view is shown. */
export function WatchProvider({ children }: { children: ReactNode }) {
  const { memory, noteRefusal } = useService();
  const [seen, setSeen] = useState(NOTHING_SEEN);
  const [events, setEvents] = useState<readonly MemoryEvent[]>([]);
  const recalls = useRef(0);
  const lastLookAt = useRef(0);

  const look = useCallback(
    async (signal: AbortSignal) => {
      const now = Date.now();
      try {
        const found = await lookAt(memory, signal);
        if (signal.aborted) return;
        const seconds = (now - lastLookAt.current) / 1000;
        const recallsPerSecond = lastLookAt.current === 0 || seconds < 1 ? null : recalls.current / seconds;
        recalls.current = 0;
        lastLookAt.current = now;
        setSeen((before) => withLook(before, found, { at: now, recallsPerSecond }));
      } catch (error) {
        if (signal.aborted) return;
        noteRefusal(error);
        setSeen((before) => withFailure(before, error, now));
      }
    },
    [memory, noteRefusal],
  );

  const [round, setRound] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round looks at once
  useEffect(() => {
    const stop = new AbortController();
    let looking = false;
    // One look at a time: where answers are slow, more would take the connections that the views need.
    const lookAgain = async () => {
      if (looking) return;
      looking = true;
      await look(stop.signal);
      looking = false;
    };
    void lookAgain();
    const timer = setInterval(() => {
      if (!document.hidden) void lookAgain();
    }, LOOKED_EVERY_MS);
    return () => {
      clearInterval(timer);
      stop.abort();
    };
  }, [look, round]);

  const reload = useCallback(() => setRound((before) => before + 1), []);
  const counting = useRef(false);
  const countAgain = () => {
    // What happens while it is counted is seen at the next look.
    if (counting.current) return;
    counting.current = true;
    memory
      .stats()
      .then((stats) => setSeen((before) => ({ ...before, stats })), noteRefusal)
      .finally(() => {
        counting.current = false;
      });
  };
  const hearing = useEvents(seen.awaySince === undefined, (told) => {
    recalls.current += told.filter(({ type }) => type === 'recalled').length;
    setEvents((before) => [...told.toReversed(), ...before].slice(0, EVENTS_KEPT));
    if (told.some(changesCounts)) countAgain();
  });
  return <WatchContext value={{ ...seen, events, hearing, reload }}>{children}</WatchContext>;
}

export function useWatch(): Watch {
  const watch = useContext(WatchContext);
  if (!watch) throw new Error('nothing is watched here');
  return watch;
}

function changesCounts({ type }: MemoryEvent): boolean {
  return type === 'stored' || type === 'forgotten' || type === 'consolidation' || type === 'gap';
}

interface Look {
  stats: StatsResponse;
  health: HealthResponse;
  /** Undefined where the key may not see it. */
  metrics: string | undefined;
}

async function lookAt(memory: Memories, signal: AbortSignal): Promise<Look> {
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

function withLook(
  before: Seen,
  { stats, health, metrics }: Look,
  sampled: Pick<Sample, 'at' | 'recallsPerSecond'>,
): Seen {
  const sample = { ...sampled, p50Ms: latencyIn(metrics, '0.5'), p99Ms: latencyIn(metrics, '0.99') };
  return {
    stats,
    first: before.first ?? stats,
    health,
    samples: [...before.samples, sample].slice(-SAMPLES_KEPT),
    maySeeLatency: metrics !== undefined,
    awaySince: undefined,
    error: undefined,
  };
}

function withFailure(before: Seen, error: unknown, at: number): Seen {
  const isUnanswered = error instanceof MemoryError && error.isUnanswered;
  return { ...before, error, awaySince: isUnanswered ? (before.awaySince ?? at) : undefined };
}

/** A quantile of the latency of recalls; null where none was made lately. */
function latencyIn(metrics: string | undefined, quantile: string): number | null {
  const line = metrics?.split('\n').find((one) => one.startsWith(`service_query_latency_ms{quantile="${quantile}"}`));
  const value = Number(line?.split(' ')[1]);
  return Number.isFinite(value) && value > 0 ? value : null;
}
