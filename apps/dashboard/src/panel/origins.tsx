import type { Memory } from '@memoryd/client';
import { useCallback, useState } from 'preact/compat';
import { isNotFound } from '../errors.ts';
import { formatMemories } from '../format.ts';
import { MemoryLink } from '../parts/labels.tsx';
import { useResource } from '../resource.ts';
import type { Memories } from '../service.tsx';
import { MemoryLine } from './memory-line.tsx';
import { LoadedSection } from './section.tsx';

/** Maximum memories of a chain of corrections, on each side. */
const MAX_CHAIN = 5;
const MAX_SOURCES = 8;

/** Another memory, or only its id if it is not visible here. */
type Linked = Memory | string;

/** Shows which memories a memory replaces, and which replace it, newest first. */
export function Corrections({ memory }: { memory: Memory }) {
  const { supersedes, superseded_by } = memory;
  const load = useCallback(
    async (api: Memories, signal: AbortSignal) => {
      const [newer, older] = await Promise.all([
        fetchChain(api, superseded_by, (one) => one.superseded_by, signal),
        fetchChain(api, supersedes, (one) => one.supersedes, signal),
      ]);
      return { newer: newer.toReversed(), older };
    },
    [supersedes, superseded_by],
  );
  const resource = useResource(load);
  return (
    <LoadedSection title="Corrections" resource={resource}>
      {({ newer, older }) => (
        <ol className="lines">
          {newer.map((one) => (
            <LinkedLine key={getId(one)} linked={one} label="Later" />
          ))}
          <li className="memory-line here" aria-current="true">
            This memory
          </li>
          {older.map((one) => (
            <LinkedLine key={getId(one)} linked={one} label="Earlier" />
          ))}
        </ol>
      )}
    </LoadedSection>
  );
}

/** Shows the memories that a semantic memory was distilled from. */
export function Sources({ ids }: { ids: readonly string[] }) {
  const [shownCount, setShownCount] = useState(MAX_SOURCES);
  const shown = ids.slice(0, shownCount).join(' ');
  const load = useCallback(
    (api: Memories, signal: AbortSignal) => Promise.all(shown.split(' ').map((id) => fetchLinked(api, id, signal))),
    [shown],
  );
  const resource = useResource(load);
  return (
    <LoadedSection title={`Distilled from ${formatMemories(ids.length)}`} resource={resource}>
      {(sources) => (
        <>
          <ol className="lines">
            {sources.map((one) => (
              <LinkedLine key={getId(one)} linked={one} />
            ))}
          </ol>
          {ids.length > shownCount && (
            <button type="button" onClick={() => setShownCount(shownCount + MAX_SOURCES)}>
              Show more
            </button>
          )}
        </>
      )}
    </LoadedSection>
  );
}

function LinkedLine({ linked, label }: { linked: Linked; label?: string }) {
  if (typeof linked === 'string') {
    return (
      <li className="memory-line soft">
        {label} <MemoryLink id={linked} /> is not visible here: it belongs to another user or agent, or was forgotten,
        expired or archived.
      </li>
    );
  }
  return <MemoryLine memory={linked}>{label !== undefined && <span>{label}</span>}</MemoryLine>;
}

const getId = (linked: Linked): string => (typeof linked === 'string' ? linked : linked.id);

async function fetchChain(
  api: Memories,
  first: string | null,
  getNext: (memory: Memory) => string | null,
  signal: AbortSignal,
): Promise<Linked[]> {
  const chain: Linked[] = [];
  for (let id = first; id !== null && chain.length < MAX_CHAIN; ) {
    const linked = await fetchLinked(api, id, signal);
    chain.push(linked);
    id = typeof linked === 'string' ? null : getNext(linked);
  }
  return chain;
}

async function fetchLinked(api: Memories, id: string, signal: AbortSignal): Promise<Linked> {
  try {
    return await api.memory(id, { signal });
  } catch (error) {
    if (isNotFound(error)) return id;
    throw error;
  }
}
