import type { MapResponse } from '@memoryd/client';
import { useEffect, useState } from 'preact/compat';
import { changesLists } from '../events.ts';
import { useEventListener } from '../watch.tsx';

const NONE: ReadonlySet<string> = new Set();

/**
 * Follows the events after a map was loaded: returns the memories that were forgotten, and whether any other change makes
 * the map outdated. The map is not loaded again with each change, because it is large.
 *
 * @param reload called after memories were forgotten of which events do not name all
 */
export function useChanges(map: MapResponse | undefined, reload: () => void) {
  const [forgotten, setForgotten] = useState(NONE);
  const [isOutdated, setIsOutdated] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new map has the changes
  useEffect(() => {
    setForgotten(NONE);
    setIsOutdated(false);
  }, [map]);
  useEventListener((events) => {
    const ids: string[] = [];
    for (const event of events) {
      if (event.type === 'forgotten' && event.memory_ids.length === event.count) ids.push(...event.memory_ids);
      else if (event.type === 'forgotten' || event.type === 'gap') reload();
      else if (changesLists(event)) setIsOutdated(true);
    }
    if (ids.length > 0) setForgotten((before) => new Set([...before, ...ids]));
  });
  return { forgotten, isOutdated };
}
