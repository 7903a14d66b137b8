import { type Memory, MemoryError } from '@memoryd/client';
import { Fragment, type TargetedEvent, useId, useLayoutEffect, useRef, useState } from 'preact/compat';
import { type Draft, findRepeatedName, getChange, rebaseDraft, toDraft, type UnsavedDraft } from '../draft.ts';
import { focusEndOnMount } from '../focus.ts';
import { DraftDiff, PROPERTY_LABELS } from '../parts/draft-diff.tsx';
import { Failure, Notice } from '../parts/notice.tsx';
import { TagInput } from '../parts/tag-input.tsx';
import { useService } from '../service.tsx';
import { FormActions } from './form-actions.tsx';
import { createFormKeys } from './form-keys.ts';
import { MetadataRows } from './metadata-rows.tsx';

/** The field that has the focus when the form opens. */
export type FormField = keyof Draft;

interface MemoryFormProps {
  /** The memory as it was loaded last; its version may be newer than the one that is being edited. */
  latest: Memory;
  initial: UnsavedDraft;
  focus: FormField;
  /** Called with the version that a save replaces, and with 0 if the save fails. */
  onReplace: (version: number) => void;
  /** Called after a save, with a message. */
  onSaved: (message: string) => void;
  /** Leaves the form; the draft stays. */
  onLeave: () => void;
}

/**
 * Edits a memory in the place where it is shown. Stores each edit as a draft. If someone else has changed the memory
 * meanwhile, the person can apply the edits to the new version or discard them.
 */
export function MemoryForm({ latest, initial, focus, onReplace, onSaved, onLeave }: MemoryFormProps) {
  const { memory, handleAuthError, unsaved } = useService();
  const [{ draft, base }, setState] = useState(initial);
  const [theirs, setTheirs] = useState<Memory>();
  const [error, setError] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  /** Whether a save was asked for while another one was under way. */
  const isWanted = useRef(false);
  const { id } = base;

  const edit = (edited: UnsavedDraft) => {
    unsaved.set('edit', id, getChange(edited.base, edited.draft) && edited);
    setState(edited);
  };
  const discard = () => {
    unsaved.set('edit', id, undefined);
    onLeave();
  };
  /** Keeps the edits that were typed while a save was under way: they are not saved yet. */
  const keepTyped = async (newer: UnsavedDraft) => {
    const saved = await memory.memory(id);
    // More may have been typed since.
    const { draft: typed } = unsaved.get('edit', id) ?? newer;
    edit({ draft: rebaseDraft(typed, draft, saved), base: saved });
    setIsBusy(false);
  };
  const save = async () => {
    const change = getChange(base, draft);
    if (!change) return discard();
    const repeated = findRepeatedName(draft);
    if (repeated !== undefined) return setError(`Metadata has two fields “${repeated}”. Rename or remove one of them.`);
    setIsBusy(true);
    setError(undefined);
    onReplace(base.version);
    const stored = unsaved.get('edit', id);
    try {
      const { redacted } = await memory.update(id, change, { ifVersions: [base.version] });
      const newer = unsaved.get('edit', id);
      if (newer && newer !== stored) return await keepTyped(newer);
      unsaved.set('edit', id, undefined);
      onSaved(redacted ? 'Changes saved. Secrets in the text were removed.' : 'Changes saved.');
    } catch (failure) {
      handleAuthError(failure);
      isWanted.current = false;
      setIsBusy(false);
      onReplace(0);
      if (failure instanceof MemoryError && failure.code === 'PRECONDITION_FAILED') {
        setTheirs(await memory.memory(id).catch(() => undefined));
      }
      setError(failure);
    }
  };
  useLayoutEffect(() => {
    if (!isBusy && isWanted.current) form.current?.requestSubmit();
  }, [isBusy]);
  const submit = (event: Event) => {
    event.preventDefault();
    isWanted.current = isBusy;
    if (!isBusy) void save();
  };
  const resolve = (keepMine: boolean) => {
    if (!theirs) return;
    edit({ draft: keepMine ? rebaseDraft(draft, toDraft(base), theirs) : toDraft(theirs), base: theirs });
    setTheirs(undefined);
    setError(undefined);
  };
  const isOutdated = latest.version > base.version && !theirs && !isBusy;
  return (
    <form
      ref={form}
      className="memory-form"
      onSubmit={submit}
      onKeyDown={createFormKeys(onLeave)}
      aria-label="Edit memory"
    >
      {theirs && <Conflict base={base} theirs={theirs} draft={draft} onResolve={resolve} />}
      {error !== undefined && !theirs && <Failure error={error} />}
      {isOutdated && (
        <Notice kind="warning">
          <p>
            <b>Changed meanwhile.</b> Someone else changed this memory while you were editing it.
          </p>
          <button type="button" onClick={() => setTheirs(latest)}>
            Compare
          </button>
        </Notice>
      )}
      <Fields draft={draft} focus={focus} onChange={(changed) => edit({ draft: changed, base })} />
      <FormActions onLeave={onLeave} onDiscard={discard}>
        <button type="submit" className="primary" title="Save (Ctrl+Enter)" disabled={isBusy || theirs !== undefined}>
          {isBusy ? 'Saving…' : 'Save'}
        </button>
      </FormActions>
    </form>
  );
}

interface FieldsProps {
  draft: Draft;
  focus: FormField;
  onChange: (draft: Draft) => void;
}

function Fields({ draft, focus, onChange }: FieldsProps) {
  const id = useId();
  const place = useRef<HTMLDivElement>(null);
  // A layout effect, so that the next key goes to the field.
  useLayoutEffect(() => {
    const field = place.current?.querySelector<HTMLElement>(`[id="${id}-${focus}"]`);
    if (field instanceof HTMLTextAreaElement) focusEndOnMount(field);
    else field?.focus();
  }, [focus, id]);
  const set = (name: keyof Draft) => (event: TargetedEvent<HTMLInputElement | HTMLTextAreaElement>) =>
    onChange({ ...draft, [name]: event.currentTarget.value });
  return (
    <div ref={place} className="stack">
      <label htmlFor={`${id}-content`}>Text</label>
      <textarea id={`${id}-content`} dir="auto" rows={4} required value={draft.content} onChange={set('content')} />
      <label htmlFor={`${id}-tags`}>Tags, separated by commas</label>
      <TagInput id={`${id}-tags`} value={draft.tags} onChange={(tags) => onChange({ ...draft, tags })} />
      <label htmlFor={`${id}-importance`}>Importance, from 0 to 1</label>
      <input
        id={`${id}-importance`}
        type="number"
        min={0}
        max={1}
        step="any"
        required
        value={draft.importance}
        onChange={set('importance')}
      />
      {(['valid_from', 'valid_to', 'expires_at'] as const).map((name) => (
        <Fragment key={name}>
          <label htmlFor={`${id}-${name}`}>{PROPERTY_LABELS[name]}</label>
          <input id={`${id}-${name}`} type="datetime-local" step={1} value={draft[name]} onChange={set(name)} />
        </Fragment>
      ))}
      <fieldset>
        <legend>Metadata</legend>
        <MetadataRows value={draft.metadata} onChange={(metadata) => onChange({ ...draft, metadata })} />
      </fieldset>
    </div>
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
      <h3>Changes by someone else</h3>
      <DraftDiff before={toDraft(base)} after={theirDraft} none="No changes to the fields of the form." />
      <h3>Your changes to the new version</h3>
      <DraftDiff
        before={theirDraft}
        after={rebaseDraft(draft, toDraft(base), theirs)}
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
