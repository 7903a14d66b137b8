import type { HistoryResponse, Memory, MemoryEvent } from '@memoryd/client';
import { useCallback, useEffect, useState } from 'preact/compat';
import { dismissForget, type PendingForget, usePendingForget } from '../bulk/pending-forgets.ts';
import { toDraft, toLocalTime, type UnsavedDraft } from '../draft.ts';
import { isNotFound } from '../errors.ts';
import { useIsWide } from '../media.ts';
import { MemoryLink } from '../parts/labels.tsx';
import { Failure, Loading, Notice } from '../parts/notice.tsx';
import { useResource } from '../resource.ts';
import { getAddressInScope, isOwn, openMemory, useRoute } from '../route.ts';
import { type Memories, useService } from '../service.tsx';
import { CorrectionForm } from './correction-form.tsx';
import { Duplicates } from './duplicates.tsx';
import { Facts } from './facts.tsx';
import { forgetMemory } from './forget-memory.ts';
import { listOrder } from './list-order.ts';
import { type FormField, MemoryForm } from './memory-form.tsx';
import { MemoryView } from './memory-view.tsx';
import { Neighbors } from './neighbors.tsx';
import { Corrections, Sources } from './origins.tsx';
import { usePanelKeys } from './panel-keys.ts';
import { RecalledBy } from './recalled-by.tsx';
import { Related } from './related.tsx';
import { useRequestedEdit } from './requested-edit.ts';
import { TextHistory } from './text-history.tsx';
import './panel.css';

/** Maximum number of texts that the history shows. */
const MAX_SHOWN_TEXTS = 100;

interface MemoryWithHistory {
  memory: Memory;
  history: HistoryResponse;
}

/** Shows one memory beside the view, with what belongs to it; edits, corrects and forgets it. */
export function MemoryPanel({ id }: { id: string }) {
  const load = useCallback(
    async (memory: Memories, signal: AbortSignal): Promise<MemoryWithHistory> => {
      const [found, history] = await Promise.all([
        memory.memory(id, { signal }),
        memory.history(id, { limit: MAX_SHOWN_TEXTS }, { signal }),
      ]);
      return { memory: found, history };
    },
    [id],
  );
  const { value, error, loading, reload } = useResource(load, (event) => isChangedBy(event, id));
  const { unsaved } = useService();
  const forget = usePendingForget(id);
  const isSent = forget?.state === 'sent';
  useEffect(() => {
    // A memory that changed meanwhile was not forgotten.
    if (isSent) reload();
  }, [isSent, reload]);
  const draft = unsaved.get('edit', id);
  // A draft is shown even if its memory cannot be loaded.
  const memory = value?.memory ?? (draft?.isLocked ? undefined : draft?.base);
  const isForgotten = value && !(draft ?? unsaved.get('correction', id)) && isNotFound(error);
  return (
    <>
      <PanelHead id={id} />
      {isForgotten && <Notice kind="plain">This memory was forgotten, expired or archived.</Notice>}
      {error !== undefined && !isForgotten && <Failure error={error} onRetry={reload} />}
      {!memory && loading && <Loading what="the memory" />}
      {memory && !isForgotten && <OpenMemory memory={memory} history={value?.history} reload={reload} />}
    </>
  );
}

function isChangedBy(event: MemoryEvent, id: string): boolean {
  if (event.type === 'consolidation') return event.state !== 'started' && event.state !== 'progress';
  if (!('memory_ids' in event) || event.type === 'recalled') return false;
  // The list of ids may have been shortened.
  return event.memory_ids.includes(id) || event.count > event.memory_ids.length;
}

/** The heading, and the way to the memories before and after in the list of the view. */
function PanelHead({ id }: { id: string }) {
  const isWide = useIsWide();
  const findNeighbor = listOrder.use();
  const [previous, next] = [findNeighbor?.(id, -1), findNeighbor?.(id, 1)];
  const getOpener = (neighbor: string | undefined) => (neighbor === undefined ? undefined : () => openMemory(neighbor));
  usePanelKeys({ j: getOpener(next), k: getOpener(previous) });
  return (
    <div className="panel-title">
      {/* The view, which has the heading of the page, is covered on narrow screens. */}
      <h2 aria-level={isWide ? 2 : 1}>Memory</h2>
      {findNeighbor && (
        <span className="panel-steps">
          <button
            type="button"
            className="icon"
            aria-label="Previous memory"
            title="Previous memory (k)"
            disabled={previous === undefined}
            onClick={getOpener(previous)}
          >
            ↑
          </button>
          <button
            type="button"
            className="icon"
            aria-label="Next memory"
            title="Next memory (j)"
            disabled={next === undefined}
            onClick={getOpener(next)}
          >
            ↓
          </button>
        </span>
      )}
    </div>
  );
}

/** `field` is the field that the form starts with. */
type Mode = { kind: 'viewing' | 'correcting' } | { kind: 'editing'; field: FormField; initial: UnsavedDraft };

interface OpenMemoryProps {
  memory: Memory;
  /** Undefined while only the draft of the memory is known. */
  history: HistoryResponse | undefined;
  reload: () => void;
}

function OpenMemory({ memory, history, reload }: OpenMemoryProps) {
  const { memory: api, handleAuthError, unsaved } = useService();
  const { params } = useRoute();
  const { id, session_id: session } = memory;
  const getInitial = (): UnsavedDraft => unsaved.get('edit', id) ?? { draft: toDraft(memory), base: memory };
  const [mode, setMode] = useState<Mode>(() =>
    unsaved.get('edit', id) ? { kind: 'editing', field: 'content', initial: getInitial() } : { kind: 'viewing' },
  );
  const [message, setMessage] = useState<string>();
  const [error, setError] = useState<unknown>();
  /** The version that a save here replaces. It is shown until the next one is loaded, but cannot be changed. */
  const [replaced, setReplaced] = useState(0);
  const isReplaced = memory.version <= replaced;
  const forget = usePendingForget(id);
  const own = isOwn(memory, params);

  const edit = (field: FormField, change: Partial<UnsavedDraft['draft']> = {}) => {
    const { draft, base } = getInitial();
    setMessage(undefined);
    setMode({ kind: 'editing', field, initial: { draft: { ...draft, ...change }, base } });
  };
  const leave = (saved?: string) => {
    setMode({ kind: 'viewing' });
    setMessage(saved);
    setError(undefined);
    // The form had the focus.
    document.querySelector<HTMLElement>('.beside')?.focus({ preventScroll: true });
    if (saved !== undefined) reload();
  };
  const restore = async (content: string) => {
    setError(undefined);
    try {
      await api.update(id, { content }, { ifVersions: [memory.version] });
      setReplaced(memory.version);
      setMessage('Text restored.');
    } catch (failure) {
      handleAuthError(failure);
      setError(failure);
    }
    reload();
  };
  const toggleForget = () => {
    if (forget) return dismissForget(forget.key);
    forgetMemory(api, memory, () => {
      unsaved.set('edit', id, undefined);
      unsaved.set('correction', id, undefined);
    });
  };
  const correct = () => setMode({ kind: 'correcting' });
  const isViewing = mode.kind === 'viewing' && own;
  usePanelKeys(
    isViewing && !isReplaced ? { e: () => edit('content'), t: () => edit('tags'), c: correct, '#': toggleForget } : {},
  );
  useRequestedEdit(id, own && !isReplaced, () => edit('content'));
  return (
    <>
      {message !== undefined && <Notice kind="good">{message}</Notice>}
      <Failure error={error} />
      {memory.superseded_by !== null && (
        <Notice kind="warning">
          <p>
            A later memory replaces this one: <MemoryLink id={memory.superseded_by} />
          </p>
        </Notice>
      )}
      {mode.kind === 'editing' && (
        <MemoryForm
          latest={memory}
          initial={mode.initial}
          focus={mode.field}
          onReplace={setReplaced}
          onSaved={leave}
          onLeave={() => leave()}
        />
      )}
      {mode.kind !== 'editing' && (
        <div className="memory" inert={isReplaced}>
          <MemoryView memory={memory} isForgetting={forget !== undefined} onEdit={isViewing ? edit : undefined} />
        </div>
      )}
      {mode.kind === 'correcting' && (
        <CorrectionForm
          memory={memory}
          onLeave={() => leave()}
          onStored={(newer) => {
            leave('Correction stored.');
            openMemory(newer);
          }}
        />
      )}
      {isViewing && (
        <>
          <UnsavedNotice
            hasEdit={unsaved.get('edit', id) !== undefined}
            hasCorrection={unsaved.get('correction', id) !== undefined}
            onEdit={() => edit('content')}
            onCorrect={correct}
          />
          <Actions {...{ forget, isReplaced, edit, correct, toggleForget }} />
        </>
      )}
      {!own && (
        <p className="soft">
          To change this shared memory, <ShowAll /> memories.
        </p>
      )}
      {history && (
        <Context memory={memory} history={history} isOwn={own} session={session} onRestore={restore} reload={reload} />
      )}
    </>
  );
}

interface ActionsProps {
  forget: PendingForget | undefined;
  isReplaced: boolean;
  edit: (field: FormField, change?: Partial<UnsavedDraft['draft']>) => void;
  correct: () => void;
  toggleForget: () => void;
}

function Actions({ forget, isReplaced, edit, correct, toggleForget }: ActionsProps) {
  return (
    <div className="actions" inert={isReplaced}>
      <button type="button" title="Edit (e)" onClick={() => edit('content')}>
        Edit
      </button>
      <button type="button" title="Store what is true now (c)" onClick={correct}>
        Correct…
      </button>
      <button type="button" onClick={() => edit('valid_to', { valid_to: toLocalTime(new Date().toISOString()) })}>
        No longer true…
      </button>
      <button
        type="button"
        className={forget ? undefined : 'danger'}
        title={forget ? 'Undo (#)' : 'Forget (#)'}
        disabled={forget && forget.state !== 'waiting'}
        onClick={toggleForget}
      >
        {forget ? getUndoLabel(forget) : 'Forget'}
      </button>
    </div>
  );
}

/** A memory that is forgotten with others can be kept only with them. */
function getUndoLabel({ ids, label }: PendingForget): string {
  return ids?.length === 1 ? 'Undo forgetting' : `Undo forgetting ${label}`;
}

function ShowAll() {
  const { view, params } = useRoute();
  return <a href={getAddressInScope(undefined, view, params)}>show all</a>;
}

interface UnsavedNoticeProps {
  hasEdit: boolean;
  hasCorrection: boolean;
  onEdit: () => void;
  onCorrect: () => void;
}

function UnsavedNotice({ hasEdit, hasCorrection, onEdit, onCorrect }: UnsavedNoticeProps) {
  if (!hasEdit && !hasCorrection) return null;
  return (
    <Notice kind="warning">
      <p>You have unsaved changes to this memory.</p>
      <div className="actions">
        {hasEdit && (
          <button type="button" onClick={onEdit}>
            Continue editing
          </button>
        )}
        {hasCorrection && (
          <button type="button" onClick={onCorrect}>
            Continue the correction
          </button>
        )}
      </div>
    </Notice>
  );
}

interface ContextProps {
  memory: Memory;
  history: HistoryResponse;
  isOwn: boolean;
  session: string | null;
  onRestore: (content: string) => void;
  reload: () => void;
}

/** Shows where a memory came from, its neighbors, its history and its use. */
function Context({ memory, history, isOwn: own, session, onRestore, reload }: ContextProps) {
  const { id, supersedes, superseded_by, derived_from, version } = memory;
  return (
    <>
      {(supersedes !== null || superseded_by !== null) && <Corrections memory={memory} />}
      {derived_from.length > 0 && <Sources ids={derived_from} />}
      {session !== null && <Neighbors memory={memory} session={session} />}
      <Related id={id} version={version} />
      <TextHistory history={history} onRestore={own ? onRestore : undefined} />
      <RecalledBy id={id} />
      {memory.merged_into !== null && (
        <p>
          Merged into <MemoryLink id={memory.merged_into} />
        </p>
      )}
      <Duplicates memory={memory} isOwn={own} onUnmerged={reload} />
      <Facts memory={memory} />
    </>
  );
}
