import { type Memory, MemoryError } from '@memoryd/client';
import { type FormEvent, useId, useState } from 'react';
import { type Draft, getChange, rebased, toDraft, type Unsaved } from '../draft.ts';
import { useService } from '../service.tsx';
import { DraftDiff } from './draft-diff.tsx';
import { Failure, Notice } from './notice.tsx';

interface MemoryEditorProps {
  memory: Memory;
  onDone: () => void;
  onCancel: () => void;
}

/** Changes a memory, unless somebody else has changed it meanwhile: then both changes are shown, and nothing is lost. */
export function MemoryEditor({ memory: opened, onDone, onCancel }: MemoryEditorProps) {
  const { memory, noteRefusal, unsaved } = useService();
  const [{ draft, base }, setWritten] = useState(
    () => unsaved.get(opened.id) ?? { draft: toDraft(opened), base: opened },
  );
  const [theirs, setTheirs] = useState<Memory>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);

  const write = (written: Unsaved) => {
    unsaved.set(opened.id, written);
    setWritten(written);
  };
  const cancel = () => {
    unsaved.delete(opened.id);
    onCancel();
  };
  const save = async (event: FormEvent) => {
    event.preventDefault();
    const change = getChange(base, draft);
    if (!change) return cancel();
    setBusy(true);
    setError(undefined);
    try {
      await memory.update(base.id, change, { ifVersions: [base.version] });
      unsaved.delete(opened.id);
      onDone();
    } catch (refused) {
      noteRefusal(refused);
      setBusy(false);
      if (refused instanceof MemoryError && refused.code === 'PRECONDITION_FAILED') {
        setTheirs(await memory.memory(base.id).catch(() => undefined));
      }
      setError(refused);
    }
  };
  const settle = (mine: boolean) => {
    if (!theirs) return;
    write({ draft: mine ? rebased(draft, base, theirs) : toDraft(theirs), base: theirs });
    setTheirs(undefined);
    setError(undefined);
  };
  return (
    <form className="panel stack" onSubmit={save} aria-label="Edit the memory">
      {theirs && <Conflict base={base} theirs={theirs} draft={draft} onSettle={settle} />}
      {error !== undefined && !theirs && <Failure error={error} />}
      <DraftFields draft={draft} onChange={(changed) => write({ draft: changed, base })} />
      <div className="actions">
        <button type="submit" className="primary" disabled={busy || theirs !== undefined}>
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
      <label htmlFor={`${id}-content`}>Text</label>
      <textarea
        id={`${id}-content`}
        dir="auto"
        // biome-ignore lint/a11y/noAutofocus: what was pressed to come here is gone, and the focus would be with it
        autoFocus
        rows={6}
        required
        value={draft.content}
        onChange={(event) => onChange({ ...draft, content: event.target.value })}
      />
      <label htmlFor={`${id}-tags`}>Tags, with commas between them</label>
      <input
        id={`${id}-tags`}
        value={draft.tags}
        onChange={(event) => onChange({ ...draft, tags: event.target.value })}
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
        onChange={(event) => onChange({ ...draft, importance: event.target.value })}
      />
    </>
  );
}

interface ConflictProps {
  base: Memory;
  theirs: Memory;
  draft: Draft;
  onSettle: (mine: boolean) => void;
}

function Conflict({ base, theirs, draft, onSettle }: ConflictProps) {
  const theirDraft = toDraft(theirs);
  return (
    <Notice kind="warning">
      <p>
        <b>Somebody else was first.</b> The memory changed while you were writing; nothing of yours was saved.
      </p>
      <h2>What they changed</h2>
      <DraftDiff before={toDraft(base)} after={theirDraft} none="Something that cannot be changed here." />
      <h2>What yours would change of theirs</h2>
      <DraftDiff before={theirDraft} after={rebased(draft, base, theirs)} none="Nothing: they wrote the same." />
      <div className="actions">
        <button type="button" onClick={() => onSettle(true)}>
          Go on with mine
        </button>
        <button type="button" onClick={() => onSettle(false)}>
          Take theirs
        </button>
      </div>
    </Notice>
  );
}
