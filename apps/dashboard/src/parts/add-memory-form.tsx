import { useId, useState } from 'preact/compat';
import { parseTags } from '../draft.ts';
import { useService } from '../service.tsx';
import { Failure } from './notice.tsx';

const EMPTY = { content: '', session: '', tags: '' };

/** A form that stores a memory. `onStored` receives the id of the memory. */
export function AddMemoryForm({ onStored }: { onStored: (id: string) => void }) {
  const { memory, handleAuthError } = useService();
  const [fields, setFields] = useState(EMPTY);
  const [error, setError] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(false);
  const id = useId();
  const store = async (event: Event) => {
    event.preventDefault();
    setIsBusy(true);
    setError(undefined);
    try {
      const { content, session, tags } = fields;
      const session_id = session.trim() || null;
      const stored = await memory.store({ content, session_id, tags: parseTags(tags), source: 'dashboard' });
      setFields(EMPTY);
      onStored(stored.id);
    } catch (failure) {
      handleAuthError(failure);
      setError(failure);
    }
    setIsBusy(false);
  };
  return (
    <form className="panel stack" aria-labelledby={`${id}-title`} onSubmit={store}>
      <h2 id={`${id}-title`}>Add a memory</h2>
      {error !== undefined && <Failure error={error} />}
      <label htmlFor={`${id}-content`}>Content</label>
      <textarea
        id={`${id}-content`}
        dir="auto"
        rows={3}
        required
        placeholder="Ada is allergic to peanuts"
        value={fields.content}
        onChange={(event) => setFields({ ...fields, content: event.currentTarget.value })}
      />
      <label htmlFor={`${id}-session`}>Session (optional)</label>
      <input
        id={`${id}-session`}
        placeholder="kitchen"
        value={fields.session}
        onChange={(event) => setFields({ ...fields, session: event.currentTarget.value })}
      />
      <label htmlFor={`${id}-tags`}>Tags, separated by commas (optional)</label>
      <input
        id={`${id}-tags`}
        placeholder="family, food"
        value={fields.tags}
        onChange={(event) => setFields({ ...fields, tags: event.currentTarget.value })}
      />
      <div className="actions">
        <button type="submit" className="primary" disabled={isBusy}>
          {isBusy ? 'Storing…' : 'Store memory'}
        </button>
      </div>
    </form>
  );
}
