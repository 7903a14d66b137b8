import { useState } from 'preact/compat';
import { changesLists } from '../events.ts';
import { useEventListener } from '../watch.tsx';

/** Maximum number of forgotten memories that are left out, the latest ones: as many as a map can have. */
const MAX_FORGOTTEN = 20_000;

/**
 * Follows the events: returns the memories that were forgotten, and whether any other change came after the request for
 * the map. The map is not loaded again with each change, because it is large.
 *
 * @param askedAt when the shown map was asked for, by `performance.now()`; undefined if none is shown
 * @param reload called after memories were forgotten of which events do not name all
 */
export function useChanges(askedAt: number | undefined, reload: () => void) {
  const [forgotten, setForgotten] = useState<ReadonlySet<string>>(new Set());
  const [changedAt, setChangedAt] = useState(0);
  useEventListener((events) => {
    const ids: string[] = [];
    for (const event of events) {
      if (event.type === 'forgotten' && event.memory_ids.length === event.count) ids.push(...event.memory_ids);
      else if (event.type === 'forgotten' || event.type === 'gap') reload();
      else if (changesLists(event)) setChangedAt(performance.now());
    }
    if (ids.length > 0) setForgotten((before) => new Set([...before, ...ids].slice(-MAX_FORGOTTEN)));
  });
  return { forgotten, isOutdated: askedAt !== undefined && changedAt > askedAt };
}
