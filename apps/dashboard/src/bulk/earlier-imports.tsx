import type { MemoryEvent } from '@memoryd/client';
import { useCallback, useState } from 'preact/compat';
import { formatMemories } from '../format.ts';
import { RelativeTime } from '../parts/labels.tsx';
import { Failure } from '../parts/notice.tsx';
import { useResource } from '../resource.ts';
import type { Memories } from '../service.tsx';
import { FORMAT_LABELS } from './import-file.ts';
import { UndoImport } from './import-result.tsx';

const MAX_LISTED = 10;

/** The last imports, each with its undo. */
export function EarlierImports() {
  const load = useCallback(
    async (memory: Memories, signal: AbortSignal) => (await memory.imports({ limit: MAX_LISTED }, { signal })).imports,
    [],
  );
  const { value: imports, error, reload } = useResource(load, endsImport);
  const [asked, setAsked] = useState<string>();
  if (error !== undefined) return <Failure error={error} onRetry={reload} />;
  if (!imports || imports.length === 0) return null;
  return (
    <section className="import-list">
      <h3>Earlier imports</h3>
      <ul>
        {imports.map(({ id, name, from, started_at, ended_at, memory_count }) => (
          <li key={id}>
            <span className="long">
              {name ?? FORMAT_LABELS[from]}{' '}
              <span className="soft">
                <RelativeTime at={started_at} /> · {formatMemories(memory_count)}
                {ended_at === null && ' · not complete'}
              </span>
            </span>
            {asked === id ? (
              <UndoImport id={id} />
            ) : (
              <button type="button" aria-label={`Undo ${name ?? FORMAT_LABELS[from]}…`} onClick={() => setAsked(id)}>
                Undo…
              </button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

const endsImport = (event: MemoryEvent): boolean =>
  event.type === 'import' && event.state !== 'started' && event.state !== 'progress';
