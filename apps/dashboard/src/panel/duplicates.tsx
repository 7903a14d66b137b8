import type { Memory } from '@memoryd/client';
import { useCallback, useState } from 'preact/compat';
import { useAction } from '../action.ts';
import { formatCount, formatDateTime } from '../format.ts';
import { Failure, Loading } from '../parts/notice.tsx';
import { useResource } from '../resource.ts';
import { getAddress } from '../route.ts';
import { type Memories, useService } from '../service.tsx';
import { MemoryLine } from './memory-line.tsx';
import { Section } from './section.tsx';

/** Runs of one look-up. */
const RUNS_PER_PAGE = 20;
/** Changes of one request: the maximum that the service allows. */
const CHANGES_PER_PAGE = 10_000;

/** A duplicate that a run merged. */
interface Merge {
  duplicateId: string;
  runId: string;
  at: string;
}

interface DuplicatesProps {
  memory: Memory;
  isOwn: boolean;
  /** Called when a duplicate has become a memory of its own again. */
  onUnmerged: () => void;
}

/** Lists the duplicates that consolidation merged into a memory, or the merge of a duplicate, and takes merges back. */
export function Duplicates({ memory, isOwn, onUnmerged }: DuplicatesProps) {
  const [isOpen, setIsOpen] = useState(memory.merged_into !== null);
  return (
    <Section title="Merged duplicates">
      {isOpen ? (
        <Merges memory={memory} isOwn={isOwn} onUnmerged={onUnmerged} />
      ) : (
        // The runs have to be searched, which is too much for each memory that is opened.
        <button type="button" onClick={() => setIsOpen(true)}>
          Find merged duplicates
        </button>
      )}
    </Section>
  );
}

/** The merges of some runs, newest first, and on request those of older runs. */
function Merges({ cursor, ...rest }: DuplicatesProps & { cursor?: string }) {
  const { id, merged_into: survivor } = rest.memory;
  const isDuplicate = survivor !== null;
  const load = useCallback(
    async (api: Memories, signal: AbortSignal) => {
      const page = { limit: RUNS_PER_PAGE, ...(cursor !== undefined && { cursor }) };
      const { consolidations, next_cursor } = await api.consolidations(page, { signal });
      const merges: Merge[] = [];
      for (const run of consolidations) {
        if (run.status !== 'completed' || run.evicted_count === 0) continue;
        const ids = await fetchMergedIds(api, run.id, id, isDuplicate, signal);
        for (const duplicateId of ids) merges.push({ duplicateId, runId: run.id, at: run.started_at });
      }
      return { merges, searched: consolidations.length, next: next_cursor };
    },
    [id, isDuplicate, cursor],
  );
  const { value, error, loading, reload } = useResource(load);
  const [isContinued, setIsContinued] = useState(false);
  return (
    <>
      <Failure error={error} onRetry={reload} />
      {!value && loading && <Loading what="merges" />}
      {value?.merges.length === 0 && (
        <p className="soft">
          No merges in {formatCount(value.searched, 'run')}
          {cursor !== undefined && ' before'}.
        </p>
      )}
      {value && value.merges.length > 0 && (
        <ol className="lines">
          {value.merges.map((merge) => (
            <MergeLine
              key={`${merge.runId} ${merge.duplicateId}`}
              merge={merge}
              isOwn={rest.isOwn}
              onUnmerged={rest.onUnmerged}
            />
          ))}
        </ol>
      )}
      {value?.next !== undefined &&
        (isContinued ? (
          <Merges cursor={value.next} {...rest} />
        ) : (
          <button type="button" onClick={() => setIsContinued(true)}>
            Search older runs
          </button>
        ))}
    </>
  );
}

interface MergeLineProps extends Omit<DuplicatesProps, 'memory'> {
  merge: Merge;
}

function MergeLine({ merge: { duplicateId, runId, at }, isOwn, onUnmerged }: MergeLineProps) {
  const { memory } = useService();
  const load = useCallback((api: Memories, signal: AbortSignal) => api.memory(duplicateId, { signal }), [duplicateId]);
  const { value, error } = useResource(load);
  const [isUnmerged, setIsUnmerged] = useState(false);
  const undo = useAction(async () => {
    await memory.undo(runId, { memory_id: duplicateId });
    setIsUnmerged(true);
    onUnmerged();
  });
  if (error !== undefined) return <li className="memory-line soft">A duplicate that is not visible here.</li>;
  if (!value) return null;
  const isMerged = value.merged_into !== null && !isUnmerged;
  return (
    <>
      <MemoryLine memory={value}>
        <span>
          {isMerged ? 'Merged by the run of ' : 'No longer merged, was merged by the run of '}
          <a href={getAddress('run', { id: runId })}>{formatDateTime(at)}</a>
        </span>
        {isMerged && isOwn && (
          <button type="button" disabled={undo.isBusy} onClick={() => undo.run()}>
            Unmerge
          </button>
        )}
      </MemoryLine>
      {undo.error !== undefined && (
        <li>
          <Failure error={undo.error} />
        </li>
      )}
    </>
  );
}

/** Returns the ids of the duplicates that a run merged into a memory, or the id itself if the run merged it. */
async function fetchMergedIds(
  api: Memories,
  runId: string,
  id: string,
  isDuplicate: boolean,
  signal: AbortSignal,
): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = { id: runId, limit: CHANGES_PER_PAGE, ...(cursor !== undefined && { cursor }) };
    const { changes, next_cursor } = await api.consolidation(page, { signal });
    for (const { kind, memory_id, merged_into } of changes) {
      if (kind === 'merged' && (isDuplicate ? memory_id : merged_into) === id) ids.push(memory_id);
    }
    cursor = next_cursor;
  } while (cursor !== undefined);
  return ids;
}
