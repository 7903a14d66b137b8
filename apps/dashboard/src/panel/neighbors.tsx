import type { Memory } from '@memoryd/client';
import { useCallback } from 'preact/compat';
import { changesSession } from '../events.ts';
import { useResource } from '../resource.ts';
import { getSessionAddress } from '../route.ts';
import type { Memories } from '../service.tsx';
import { MemoryLine } from './memory-line.tsx';
import { LoadedSection } from './section.tsx';

/** Neighbors shown on each side. */
const MAX_NEIGHBORS = 2;
/** Loaded on each side, because several memories may have the same time. */
const MAX_LOADED = 12;

/** Shows the memories before and after a memory in its session. */
export function Neighbors({ memory, session }: { memory: Memory; session: string }) {
  const { id, created_at: at, user_id } = memory;
  const load = useCallback(
    async (api: Memories, signal: AbortSignal) => {
      const page = { session_id: session, limit: MAX_LOADED, ...(user_id !== undefined && { user_id }) };
      const [later, earlier] = await Promise.all([
        api.memories({ ...page, since: at, dir: 'asc' }, { signal }),
        api.memories({ ...page, until: at }, { signal }),
      ]);
      const before = getNext(earlier.memories, id).toReversed();
      const isBefore = new Set(before.map((one) => one.id));
      return { before, after: getNext(later.memories, id).filter((one) => !isBefore.has(one.id)) };
    },
    [id, at, session, user_id],
  );
  const resource = useResource(load, (event) => changesSession(event, session));
  return (
    <LoadedSection title="In the session" resource={resource}>
      {({ before, after }) => (
        <>
          <ol className="lines">
            {before.map((one) => (
              <MemoryLine key={one.id} memory={one} />
            ))}
            <li className="memory-line here" aria-current="true">
              This memory
            </li>
            {after.map((one) => (
              <MemoryLine key={one.id} memory={one} />
            ))}
          </ol>
          <p>
            <a href={getSessionAddress(session, user_id)}>Show session</a>
          </p>
        </>
      )}
    </LoadedSection>
  );
}

/** Returns the memories after one in a list; the first of the list if it does not contain that memory. */
function getNext(memories: readonly Memory[], id: string): Memory[] {
  const at = memories.findIndex((one) => one.id === id);
  return memories.slice(at + 1, at + 1 + MAX_NEIGHBORS);
}
