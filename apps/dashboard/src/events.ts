import type { MemoryEvent } from '@memoryd/client';
import { useEffect, useEffectEvent, useRef, useState, useSyncExternalStore } from 'react';
import { useService } from './service.tsx';

/** Milliseconds that events are gathered for: a busy service tells hundreds a second, and a page is drawn once. */
const GATHERED_MS = 500;

/** Whether the page hears of what happens. */
export type Hearing = 'listening' | 'silent';

/**
 * Follows what happens as long as it is in sight, and tells of it in handfuls; of what happened out of sight, when it comes
 * back. A browser has six connections to a service for all of its tabs: each that listens takes one from them.
 */
export function useEvents(onEvents: (events: MemoryEvent[]) => void): Hearing {
  const { memory, noteRefusal } = useService();
  const [hearing, setHearing] = useState<Hearing>('listening');
  const isInSight = useSyncExternalStore(subscribe, () => !document.hidden);
  const seen = useRef<string>(undefined);
  const tell = useEffectEvent(onEvents);
  useEffect(() => {
    if (!isInSight) return;
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
    follow().catch((error) => {
      if (stop.signal.aborted) return;
      noteRefusal(error);
      setHearing('silent');
    });
    return () => {
      clearInterval(timer);
      stop.abort();
    };
  }, [memory, noteRefusal, isInSight]);
  return hearing;
}

function subscribe(changed: () => void): () => void {
  document.addEventListener('visibilitychange', changed);
  return () => document.removeEventListener('visibilitychange', changed);
}
