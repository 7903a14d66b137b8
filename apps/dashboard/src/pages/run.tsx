import type { Consolidation, ConsolidationChange } from '@memoryd/client';
import { useCallback, useMemo, useState } from 'preact/compat';
import { useAction } from '../action.ts';
import { isConsolidation } from '../events.ts';
import { formatCount, formatDateTime, formatNumber } from '../format.ts';
import { type LoadPage, usePages } from '../paging.ts';
import { ChangeRow } from '../parts/change-row.tsx';
import { Failure, Loading, Nothing, Notice } from '../parts/notice.tsx';
import { PagedList } from '../parts/paged-list.tsx';
import { getSummary, RunState } from '../parts/run-state.tsx';
import { UndoDialog } from '../parts/undo-dialog.tsx';
import { useResource } from '../resource.ts';
import { getAddress, setParams } from '../route.ts';
import { type Memories, useService } from '../service.tsx';

const CHANGE_PX = 96;

/** Shows a consolidation run with its changes, and undoes it. */
export function RunPage({ params }: { params: URLSearchParams }) {
  const { scopeKey } = useService();
  const id = params.get('id') ?? '';
  const load = useCallback(
    (memory: Memories, signal: AbortSignal) => memory.consolidation({ id, limit: 1 }, { signal }),
    [id],
  );
  const { value: run, error, loading, reload } = useResource(load, isConsolidation);
  const [isConfirming, setIsConfirming] = useState(false);
  return (
    <>
      <header className="title">
        <p className="soft">
          <a href={getAddress('consolidation')}>Consolidation</a>
        </p>
        <h1>{run ? `Run of ${formatDateTime(run.started_at)}` : 'Consolidation run'}</h1>
        {run && (
          <p className="soft">
            <RunState run={run} /> · {getSummary(run)}
            {scopeKey !== '' && ', all users and agents'}
          </p>
        )}
      </header>
      <Failure error={error} onRetry={reload} />
      {!run && loading && <Loading what="the run" />}
      {run?.status === 'completed' && (
        <div className="actions">
          <button type="button" onClick={() => setIsConfirming(true)}>
            Undo…
          </button>
        </div>
      )}
      {run?.status === 'undone' && <Notice kind="plain">This run was undone, and its changes were reverted.</Notice>}
      {run && <Changes params={params} status={run.status} />}
      {isConfirming && <UndoDialog runId={id} onClose={() => setIsConfirming(false)} onDone={reload} />}
    </>
  );
}

type Kind = ConsolidationChange['kind'];

/**
 * Changes per page: the maximum that the service allows. The pages stay small, because a change does not contain the
 * text of the memory.
 */
const PAGE_CHANGES = 10_000;

function Changes({ params, status }: { params: URLSearchParams; status: Consolidation['status'] }) {
  const runId = params.get('id') ?? '';
  const load = useMemo(
    (): LoadPage<ConsolidationChange> => async (memory, place, signal) => {
      const page = { id: runId, limit: PAGE_CHANGES, ...place };
      const { changes, total, next_cursor } = await memory.consolidation(page, { signal });
      return { items: changes, total, next: next_cursor };
    },
    [runId],
  );
  // A run that has ended has all its changes.
  const pages = usePages(load, status === 'running' ? isConsolidation : undefined);
  const { items, total, isLoaded } = pages;
  const kind = KINDS.find((one) => one === params.get('kind'));
  /** Memories whose changes were undone here. The rows stay, so that the list does not move. */
  const [undone, setUndone] = useState<ReadonlySet<string>>(new Set());
  const shown = useMemo(
    () => (kind === undefined ? sortByKind(items) : items.filter((change) => change.kind === kind)),
    [items, kind],
  );
  return (
    <>
      {isLoaded && total > 0 && <Kinds changes={items} total={total} kind={kind} />}
      <PagedList
        key={kind ?? 'all'}
        label="Changes"
        what="changes"
        empty={<Nothing title="No changes" />}
        pages={{ ...pages, items: shown, total: kind === undefined ? total : shown.length }}
        getKey={({ kind, memory_id, merged_into }) => `${kind} ${memory_id} ${merged_into}`}
        estimatePx={CHANGE_PX}
      >
        {(change) => (
          <ChangeRow change={change}>
            {status === 'completed' && (
              <UndoChange
                runId={runId}
                memoryId={change.memory_id}
                isUndone={undone.has(change.memory_id)}
                onDone={() => setUndone((before) => new Set(before).add(change.memory_id))}
              />
            )}
          </ChangeRow>
        )}
      </PagedList>
    </>
  );
}

interface UndoChangeProps {
  runId: string;
  memoryId: string;
  isUndone: boolean;
  onDone: () => void;
}

/** Undoes the changes that a run made to one memory. The rest of the run stays. */
function UndoChange({ runId, memoryId, isUndone, onDone }: UndoChangeProps) {
  const { memory } = useService();
  const { run, isBusy, error } = useAction(async () => {
    await memory.undo(runId, { memory_id: memoryId });
    onDone();
  });
  return (
    <>
      {isUndone ? (
        <b role="status">Undone</b>
      ) : (
        <button type="button" className="quiet" disabled={isBusy} onClick={() => run()}>
          Undo this change
        </button>
      )}
      <Failure error={error} />
    </>
  );
}

/**
 * Labels of the kinds of change, in display order. Promotions come last, because most changes of a run are promotions.
 */
const KIND_LABELS: Readonly<Record<Kind, string>> = {
  distilled: 'Distilled',
  refreshed: 'Updated',
  merged: 'Merged',
  evicted: 'Evicted',
  corrected: 'Superseded',
  gained: 'Updated from duplicates',
  moved: 'Moved',
  promoted: 'Promoted',
};
const KINDS = Object.keys(KIND_LABELS) as Kind[];

function sortByKind(changes: readonly ConsolidationChange[]): ConsolidationChange[] {
  return changes.toSorted((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
}

interface KindsProps {
  /** The changes that are loaded so far. */
  changes: readonly ConsolidationChange[];
  total: number;
  kind: Kind | undefined;
}

/** Shows the number of changes of each kind, and filters the changes by kind. */
function Kinds({ changes, total, kind }: KindsProps) {
  const counts = new Map<Kind, number>();
  for (const change of changes) counts.set(change.kind, (counts.get(change.kind) ?? 0) + 1);
  return (
    <fieldset className="kinds">
      <legend className="hidden">Kind of change</legend>
      <button type="button" aria-pressed={kind === undefined} onClick={() => setParams({ kind: undefined })}>
        {formatCount(total, 'change')}
      </button>
      {KINDS.filter((one) => counts.has(one)).map((one) => (
        <button key={one} type="button" aria-pressed={kind === one} onClick={() => setParams({ kind: one })}>
          {KIND_LABELS[one]} {formatNumber(counts.get(one) ?? 0)}
        </button>
      ))}
      {changes.length < total && <span className="soft">in the first {formatNumber(changes.length)} changes</span>}
    </fieldset>
  );
}
