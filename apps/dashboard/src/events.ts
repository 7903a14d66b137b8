import type { MemoryEvent } from '@memoryd/client';
import { useEffect, useEffectEvent, useRef, useState, useSyncExternalStore } from 'preact/compat';
import { useService } from './service.tsx';

/**
 * Interval at which events are delivered to the page in batches. A busy service sends hundreds of events per second; a
 * batch renders the page once.
 */
const BATCH_INTERVAL_MS = 500;

/** Delay before the event stream is reopened after an error. */
const RETRY_DELAY_MS = 30_000;

/** `connecting` until the service has answered the request for the stream. */
export type StreamState = 'connecting' | 'live' | 'stopped';

/**
 * Subscribes to the service's events while the page is visible and the service is reachable, and delivers them in
 * batches. A reopened stream continues after the last delivered event; without one, it begins with a `gap`. A hidden page closes its stream, because
 * browsers allow six HTTP/1.1 connections per host for all tabs together.
 *
 * @param isReachable whether the service responds to the page
 * @param options `fromBacklog`: begins with the events that the service still has, after a `gap` event, instead of with
 *   the next event
 */
export function useEvents(
  isReachable: boolean,
  onEvents: (events: MemoryEvent[]) => void,
  { fromBacklog = false }: { fromBacklog?: boolean } = {},
): StreamState {
  const { memory, handleAuthError } = useService();
  const [streamState, setStreamState] = useState<StreamState>('connecting');
  const isVisible = useSyncExternalStore(subscribe, () => !document.hidden);
  // The id of no event: a stream that continues after an unknown event begins with the first event that is left.
  const lastId = useRef(fromBacklog ? 'none' : undefined);
  const wasOpened = useRef(false);
  const [round, setRound] = useState(0);
  const deliver = useEffectEvent(onEvents);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of `round` reopens the stream
  useEffect(() => {
    if (!isVisible || !isReachable) return;
    const controller = new AbortController();
    let batch: MemoryEvent[] = [];
    const timer = setInterval(() => {
      if (batch.length === 0) return;
      const events = batch;
      batch = [];
      lastId.current = events.findLast(({ id }) => id !== '')?.id ?? lastId.current;
      deliver(events);
    }, BATCH_INTERVAL_MS);
    const open = () => {
      // Without the id of an event, the service cannot tell which events the page has missed since the last stream.
      if (wasOpened.current && lastId.current === undefined) batch.push(createGap());
      wasOpened.current = true;
      setStreamState('live');
    };
    const follow = async () => {
      const after = lastId.current === undefined ? {} : { last_event_id: lastId.current };
      for await (const event of memory.events(after, controller.signal, open)) batch.push(event);
    };
    setStreamState('connecting');
    let retryTimer: ReturnType<typeof setTimeout> | undefined;
    follow().catch((error) => {
      if (controller.signal.aborted) return;
      handleAuthError(error);
      setStreamState('stopped');
      retryTimer = setTimeout(() => setRound((before) => before + 1), RETRY_DELAY_MS);
    });
    return () => {
      clearTimeout(retryTimer);
      clearInterval(timer);
      controller.abort();
    };
  }, [memory, handleAuthError, isVisible, isReachable, round]);
  return streamState;
}

/** Returns whether an event may change what lists show. */
export const changesLists = ({ type }: MemoryEvent): boolean => type !== 'recalled';

/** Returns whether an event may change or remove memories that are shown. */
export const changesMemories = ({ type }: MemoryEvent): boolean => type === 'updated' || type === 'forgotten';

/** Returns whether an event may change what a session shows. A store in several sessions names none. */
export const changesSession = (event: MemoryEvent, id: string): boolean =>
  changesMemories(event) || (event.type === 'stored' && (event.session_id ?? id) === id);

export const isConsolidation = ({ type }: MemoryEvent): boolean => type === 'consolidation';

const createGap = (): MemoryEvent => ({ type: 'gap', id: '', at: new Date().toISOString() });

function subscribe(onChange: () => void): () => void {
  document.addEventListener('visibilitychange', onChange);
  return () => document.removeEventListener('visibilitychange', onChange);
}
