import { type Memory, MemoryError } from '@memoryd/client';
import { useId, useState } from 'preact/compat';
import { type Draft, getChange, rebaseDraft, toDraft, type UnsavedDraft } from '../draft.ts';
import { focusOnMount } from '../focus.ts';
import { useService } from '../service.tsx';
import { DraftDiff } from './draft-diff.tsx';
import { Failure, Notice } from './notice.tsx';

interface MemoryEditorProps {
  memory: Memory;
  onDone: () => void;
  onCancel: () => void;
}

/**
 * A form that edits a memory. If someone else has changed the memory meanwhile, the user can apply the edits to the new
 * version or discard the edits.
 */
export function MemoryEditor({ memory: original, onDone, onCancel }: MemoryEditorProps) {
  const { memory, handleAuthError, unsaved } = useService();
  const [{ draft, base }, setState] = useState(
    () => unsaved.get(original.id) ?? { draft: toDraft(original), base: original },
  );
  const [theirs, setTheirs] = useState<Memory>();
  const [error, setError] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(false);

  const edit = (edited: UnsavedDraft) => {
    unsaved.set(original.id, edited);
    setState(edited);
  };
  const cancel = () => {
    unsaved.delete(original.id);
    onCancel();
  };
  const save = async (event: Event) => {
    event.preventDefault();
    const change = getChange(base, draft);
    if (!change) return cancel();
    setIsBusy(true);
    setError(undefined);
    try {
      await memory.update(base.id, change, { ifVersions: [base.version] });
      unsaved.delete(original.id);
      onDone();
    } catch (failure) {
      handleAuthError(failure);
      setIsBusy(false);
      if (failure instanceof MemoryError && failure.code === 'PRECONDITION_FAILED') {
        setTheirs(await memory.memory(base.id).catch(() => undefined));
      }
      setError(failure);
    }
  };
  const resolve = (keepMine: boolean) => {
    if (!theirs) return;
    edit({ draft: keepMine ? rebaseDraft(draft, base, theirs) : toDraft(theirs), base: theirs });
    setTheirs(undefined);
    setError(undefined);
  };
  return (
    <form className="panel stack" onSubmit={save} aria-label="Edit memory">
      {theirs && <Conflict base={base} theirs={theirs} draft={draft} onResolve={resolve} />}
      {error !== undefined && !theirs && <Failure error={error} />}
      <DraftFields draft={draft} onChange={(changed) => edit({ draft: changed, base })} />
      <div className="actions">
        <button type="submit" className="primary" disabled={isBusy || theirs !== undefined}>
          Save
        </button>
        <button type="button" onClick={cancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}

function DraftFields({ draft, onChange }: { draft: Draft; onChange: (draft: Draft) => void }) {
  const id = useId();
  return (
    <>
      <label htmlFor={`${id}-content`}>Content</label>
      <textarea
        id={`${id}-content`}
        dir="auto"
        ref={focusOnMount}
        rows={6}
        required
        value={draft.content}
        onChange={(event) => onChange({ ...draft, content: event.currentTarget.value })}
      />
      <label htmlFor={`${id}-tags`}>Tags, separated by commas</label>
      <input
        id={`${id}-tags`}
        value={draft.tags}
        onChange={(event) => onChange({ ...draft, tags: event.currentTarget.value })}
      />
      <label htmlFor={`${id}-importance`}>Importance, from 0 to 1</label>
      <input
        id={`${id}-importance`}
        type="number"
        min={0}
        max={1}
        step="any"
        required
        value={draft.importance}
        onChange={(event) => onChange({ ...draft, importance: event.currentTarget.value })}
      />
    </>
  );
}

interface ConflictProps {
  base: Memory;
  theirs: Memory;
  draft: Draft;
  onResolve: (keepMine: boolean) => void;
}

function Conflict({ base, theirs, draft, onResolve }: ConflictProps) {
  const theirDraft = toDraft(theirs);
  return (
    <Notice kind="warning">
      <p>
        <b>Someone else changed this memory.</b> Your changes are not saved yet.
      </p>
      <h2>Changes by someone else</h2>
      <DraftDiff before={toDraft(base)} after={theirDraft} none="No changes to content, tags or importance." />
      <h2>Your changes to the new version</h2>
      <DraftDiff
        before={theirDraft}
        after={rebaseDraft(draft, base, theirs)}
        none="None: the new version already contains your changes."
      />
      <div className="actions">
        <button type="button" onClick={() => onResolve(true)}>
          Keep my changes
        </button>
        <button type="button" onClick={() => onResolve(false)}>
          Discard my changes
        </button>
      </div>
    </Notice>
  );
}
