import type { MemoryEvent } from '@memoryd/client';
import { useEffect, useEffectEvent, useRef, useState, useSyncExternalStore } from 'react';
import { useService } from './service.tsx';

/** Milliseconds that events are gathered for: a busy service tells hundreds a second, and a page is drawn once. */
const GATHERED_MS = 500;

/** How long after the service refused to tell of what happens it is asked again. */
const ASKED_AGAIN_MS = 30_000;

/** Whether the page hears of what happens. */
export type Hearing = 'listening' | 'silent';

/**
 * Follows what happens as long as the page is in sight and the service there, and tells of it in handfuls; of what happened
 * meanwhile, when both are back. A browser has six connections to a service for all of its tabs: each that listens takes one from them.
 */
export function useEvents(isThere: boolean, onEvents: (events: MemoryEvent[]) => void): Hearing {
  const { memory, noteRefusal } = useService();
  const [hearing, setHearing] = useState<Hearing>('listening');
  const isInSight = useSyncExternalStore(subscribe, () => !document.hidden);
  const seen = useRef<string>(undefined);
  const [round, setRound] = useState(0);
  const tell = useEffectEvent(onEvents);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round asks again
  useEffect(() => {
    if (!isInSight || !isThere) return;
    const stop = new AbortController();
    let gathered: MemoryEvent[] = [];
    const timer = setInterval(() => {
      if (gathered.length === 0) return;
      const told = gathered;
      gathered = [];
      seen.current = told.findLast(({ id }) => id !== '')?.id ?? seen.current;
      tell(told);
    }, GATHERED_MS);
    const follow = async () => {
      const after = seen.current === undefined ? {} : { last_event_id: seen.current };
      for await (const event of memory.events(after, stop.signal)) gathered.push(event);
    };
    setHearing('listening');
    let again: ReturnType<typeof setTimeout> | undefined;
    follow().catch((error) => {
      if (stop.signal.aborted) return;
      noteRefusal(error);
      setHearing('silent');
      again = setTimeout(() => setRound((before) => before + 1), ASKED_AGAIN_MS);
    });
    return () => {
      clearTimeout(again);
      clearInterval(timer);
      stop.abort();
    };
  }, [memory, noteRefusal, isInSight, isThere, round]);
  return hearing;
}

function subscribe(changed: () => void): () => void {
  document.addEventListener('visibilitychange', changed);
  return () => document.removeEventListener('visibilitychange', changed);
}
