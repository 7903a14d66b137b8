import { useCallback } from 'preact/compat';
import { changesMemories } from '../events.ts';
import { useResource } from '../resource.ts';
import type { Memories } from '../service.tsx';
import { MemoryLine } from './memory-line.tsx';
import { LoadedSection } from './section.tsx';

const MAX_RELATED = 5;

/** Shows the memories that speak of the same thing. */
export function Related({ id, version }: { id: string; version: number }) {
  // A new version may have another text.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new version loads again
  const load = useCallback(
    (memory: Memories, signal: AbortSignal) => memory.related(id, { limit: MAX_RELATED }, { signal }),
    [id, version],
  );
  return (
    <LoadedSection title="Related" resource={useResource(load, changesMemories)}>
      {({ related }) =>
        related.length === 0 ? (
          <p className="soft">No related memories.</p>
        ) : (
          <ol className="lines">
            {related.map(({ memory, score }) => (
              <MemoryLine key={memory.id} memory={memory}>
                <span>Similarity {score.toFixed(2)}</span>
              </MemoryLine>
            ))}
          </ol>
        )
      }
    </LoadedSection>
  );
}
