import type { Memory } from '@memoryd/client';
import { useId, useState } from 'preact/compat';
import { useAction } from '../action.ts';
import { toDraft } from '../draft.ts';
import { focusEndOnMount } from '../focus.ts';
import { Failure } from '../parts/notice.tsx';
import { useService } from '../service.tsx';
import { useStore } from '../store-memory.ts';
import { FormActions } from './form-actions.tsx';
import { createFormKeys } from './form-keys.ts';

interface CorrectionFormProps {
  memory: Memory;
  onStored: (id: string) => void;
  /** Leaves the form; the draft stays. */
  onLeave: () => void;
}

/**
 * Stores a new memory that supersedes this one, with its session, tags, importance and metadata. The old text stays, and ranks
 * below the new one.
 */
export function CorrectionForm({ memory: old, onStored, onLeave }: CorrectionFormProps) {
  const { unsaved } = useService();
  const store = useStore();
  const id = useId();
  const [text, setText] = useState(() => (unsaved.get('correction', old.id)?.draft ?? toDraft(old)).content);
  const isChanged = text.trim() !== '' && text !== toDraft(old).content;
  const edit = (typed: string) => {
    setText(typed);
    const draft = { ...toDraft(old), content: typed };
    unsaved.set('correction', old.id, typed === toDraft(old).content ? undefined : { draft, base: old });
  };
  const discard = () => {
    unsaved.set('correction', old.id, undefined);
    onLeave();
  };
  const { run, isBusy, error } = useAction(async () => {
    const { session_id, tags, importance, metadata, user_id, agent_id } = old;
    const owner = { ...(user_id !== undefined && { user_id }), ...(agent_id !== undefined && { agent_id }) };
    const id = await store({ content: text, session_id, tags, importance, metadata, ...owner, supersedes: old.id });
    unsaved.set('correction', old.id, undefined);
    return id;
  }, onStored);
  const submit = (event: Event) => {
    event.preventDefault();
    if (isChanged) void run();
  };
  return (
    <form className="memory-form" aria-label="Correct memory" onSubmit={submit} onKeyDown={createFormKeys(onLeave)}>
      <Failure error={error} />
      <div className="stack">
        <label htmlFor={id}>What is true now</label>
        <textarea
          id={id}
          ref={focusEndOnMount}
          dir="auto"
          rows={4}
          required
          readOnly={isBusy}
          value={text}
          onChange={(event) => edit(event.currentTarget.value)}
        />
        <p className="soft note">Stored as a new memory. The old text stays, and ranks below the new one.</p>
      </div>
      <FormActions onLeave={onLeave} onDiscard={discard}>
        <button type="submit" className="primary" title="Store correction (Ctrl+Enter)" disabled={isBusy || !isChanged}>
          {isBusy ? 'Storing…' : 'Store correction'}
        </button>
      </FormActions>
    </form>
  );
}
