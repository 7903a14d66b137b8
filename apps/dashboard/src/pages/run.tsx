import type { ConsolidationChange } from '@memoryd/client';
import { useCallback, useMemo, useState } from 'react';
import { count, counted, moment } from '../format.ts';
import { useLoaded } from '../loading.ts';
import { type AskPage, usePages } from '../pages.ts';
import { ChangeRow } from '../parts/change-row.tsx';
import { Failure, Nothing, Notice, Waiting } from '../parts/notice.tsx';
import { getSummary, RunState } from '../parts/run-state.tsx';
import { UndoDialog } from '../parts/undo-dialog.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { getAddress } from '../place.ts';
import { type Memories, useService } from '../service.tsx';

const CHANGE_PX = 96;

/** One run of consolidation with what it changed, and the way back. */
export function RunPage({ asked }: { asked: URLSearchParams }) {
  const { shownFor } = useService();
  const id = asked.get('id') ?? '';
  const ask = useCallback(
    (memory: Memories, signal: AbortSignal) => memory.consolidation({ id, limit: 1 }, { signal }),
    [id],
  );
  const { value: run, error, loading, reload } = useLoaded(ask);
  const [asking, setAsking] = useState(false);
  return (
    <>
      <header className="title">
        <p className="soft">
          <a href={getAddress('sleep')}>Sleep</a>
        </p>
        <h1>{run ? moment(run.started_at) : 'A run'}</h1>
        {run && (
          <p className="soft">
            <RunState run={run} /> {getSummary(run)}
            {shownFor !== '' && ', of all users and agents'}
          </p>
        )}
      </header>
      {error !== undefined && <Failure error={error} onRetry={reload} />}
      {!run && loading && <Waiting what="the run" />}
      {run?.status === 'completed' && (
        <div className="actions">
          <button type="button" onClick={() => setAsking(true)}>
            Take it back…
          </button>
        </div>
      )}
      {run?.status === 'undone' && (
        <Notice kind="plain">This run was taken back: what it changed is as it was before.</Notice>
      )}
      {run && <Changes runId={id} />}
      {asking && <UndoDialog runId={id} onClose={() => setAsking(false)} onDone={reload} />}
    </>
  );
}

type Kind = ConsolidationChange['kind'];

function Changes({ runId }: { runId: string }) {
  const ask = useMemo(
    (): AskPage<ConsolidationChange> => async (memory, cursor, signal) => {
      // As many as a page may hold: they name memories, whose texts come when they are looked at.
      const page = { id: runId, limit: 10_000, ...(cursor !== undefined && { cursor }) };
      const { changes, total, next_cursor } = await memory.consolidation(page, { signal });
      return { items: changes, total, next: next_cursor };
    },
    [runId],
  );
  const { items, total, begun, error, loadMore, retry } = usePages(ask);
  const [kind, setKind] = useState<Kind>();
  const shown = useMemo(
    () => (kind === undefined ? tellingFirst(items) : items.filter((change) => change.kind === kind)),
    [items, kind],
  );
  return (
    <>
      {!begun && error === undefined && <Waiting what="what it changed" />}
      {begun && total === 0 && <Nothing title="It changed nothing" />}
      {begun && total > 0 && <Kinds changes={items} total={total} kind={kind} onChoose={setKind} />}
      {shown.length > 0 && (
        <VirtualList
          key={kind ?? 'all'}
          label="Changes"
          items={shown}
          total={kind === undefined ? total : shown.length}
          getKey={({ kind, memory_id, merged_into }) => `${kind} ${memory_id} ${merged_into}`}
          estimate={CHANGE_PX}
          onNearEnd={loadMore}
        >
          {(change) => <ChangeRow change={change} />}
        </VirtualList>
      )}
      {error !== undefined && <Failure error={error} onRetry={retry} />}
    </>
  );
}

/** What promoted, as most memories of a run did, stands last; what is told of first is new or gone. */
const TELLING: readonly Kind[] = [
  'distilled',
  'refreshed',
  'merged',
  'evicted',
  'corrected',
  'gained',
  'moved',
  'promoted',
];

function tellingFirst(changes: readonly ConsolidationChange[]): ConsolidationChange[] {
  return changes.toSorted((a, b) => TELLING.indexOf(a.kind) - TELLING.indexOf(b.kind));
}

interface KindsProps {
  /** Those that are loaded. */
  changes: readonly ConsolidationChange[];
  total: number;
  kind: Kind | undefined;
  onChoose: (kind: Kind | undefined) => void;
}

/** How many changes there are of each kind, to look at one kind alone. */
function Kinds({ changes, total, kind, onChoose }: KindsProps) {
  const counts = new Map<Kind, number>();
  for (const change of changes) counts.set(change.kind, (counts.get(change.kind) ?? 0) + 1);
  return (
    <fieldset className="kinds">
      <legend className="hidden">Which changes</legend>
      <button type="button" aria-pressed={kind === undefined} onClick={() => onChoose(undefined)}>
        {counted(total, 'change')}
      </button>
      {TELLING.filter((one) => counts.has(one)).map((one) => (
        <button key={one} type="button" aria-pressed={kind === one} onClick={() => onChoose(one)}>
          {one} {count(counts.get(one) ?? 0)}
        </button>
      ))}
      {changes.length < total && <span className="soft">of the first {count(changes.length)}</span>}
    </fieldset>
  );
}
