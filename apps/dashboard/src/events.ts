import type { MemoryEvent } from '@memoryd/client';
import { useEffect, useEffectEvent, useState } from 'react';
import { useService } from './service.tsx';

/** Milliseconds that events are gathered for: a busy service tells hundreds a second, and a page is drawn once. */
const GATHERED_MS = 500;

/** Whether the page hears of what happens. */
export type Hearing = 'listening' | 'silent';

/** Follows what happens as long as it is shown, and tells of it in handfuls. */
export function useEvents(onEvents: (events: MemoryEvent[]) => void): Hearing {
  const { memory, noteRefusal } = useService();
  const [hearing, setHearing] = useState<Hearing>('listening');
  const tell = useEffectEvent(onEvents);
  useEffect(() => {
    const stop = new AbortController();
    let gathered: MemoryEvent[] = [];
    const timer = setInterval(() => {
      if (gathered.length === 0) return;
      const told = gathered;
      gathered = [];
      tell(told);
    }, GATHERED_MS);
    const follow = async () => {
      for await (const event of memory.events({}, stop.signal)) gathered.push(event);
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
  }, [memory, noteRefusal]);
  return hearing;
}
