import type { MemoryEvent } from '@memoryd/client';
import { useEffect, useEffectEvent, useRef, useState, useSyncExternalStore } from 'react';
import { useService } from './service.tsx';

/** Milliseconds that events are gathered for: a busy service tells hundreds a second, and a page is drawn once. */
const GATHERED_MS = 500;

/** Milliseconds after which events are requested again when the service has refused them. */
const RETRY_MS = 30_000;

/** Whether the page hears of what happens. */
export type Hearing = 'listening' | 'silent';

/**
 * Follows the service's events while the page is visible and the service answers, and passes them on in batches. Events that
 * were missed come when both hold again. A browser has six connections to a service for all of its tabs, and each stream of
 * events takes one of them.
 *
 * @param isThere whether the service answers
 */
export function useEvents(isThere: boolean, onEvents: (events: MemoryEvent[]) => void): Hearing {
  const { memory, noteRefusal } = useService();
  const [hearing, setHearing] = useState<Hearing>('listening');
  const isInSight = useSyncExternalStore(subscribe, () => !document.hidden);
  const seen = useRef<string>(undefined);
  const [round, setRound] = useState(0);
  const tell = useEffectEvent(onEvents);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round requests again
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
      again = setTimeout(() => setRound((before) => before + 1), RETRY_MS);
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
