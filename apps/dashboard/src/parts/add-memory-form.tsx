import { useId } from 'preact/compat';
import { useAction } from '../action.ts';
import { parseTags } from '../draft.ts';
import { clearNewMemory, newMemory } from '../new-memory.ts';
import { useStore } from '../store-memory.ts';
import { Failure } from './notice.tsx';

/** A form that stores a memory. `onStored` receives the id of the memory. */
export function AddMemoryForm({ onStored }: { onStored: (id: string) => void }) {
  const store = useStore();
  const fields = newMemory.use();
  const setFields = newMemory.set;
  const id = useId();
  const { run, isBusy, error } = useAction(async () => {
    const { content, session, tags } = fields;
    const stored = await store({ content, session_id: session.trim() || null, tags: parseTags(tags) });
    // The form may be closed meanwhile, and the next memory typed.
    if (newMemory.get() === fields) clearNewMemory();
    return stored;
  }, onStored);
  const submit = (event: Event) => {
    event.preventDefault();
    void run();
  };
  return (
    <form className="panel stack" aria-labelledby={`${id}-title`} onSubmit={submit}>
      <h2 id={`${id}-title`}>Add a memory</h2>
      <Failure error={error} />
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
