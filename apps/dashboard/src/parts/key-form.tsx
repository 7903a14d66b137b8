import { useState } from 'preact/compat';
import { useService } from '../service.tsx';
import { Notice } from './notice.tsx';

/** The sign-in form for an API key. `reason` states why the service needs a key. */
export function KeyForm({ reason }: { reason: string }) {
  const { setApiKey, hasKey } = useService();
  const [text, setText] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    if (text.trim() !== '') setApiKey(text.trim());
  };
  return (
    <section className="narrow" aria-labelledby="key-title">
      <h1 id="key-title">Sign in</h1>
      {hasKey && <Notice kind="error">The service did not accept this key.</Notice>}
      <p className="soft">{reason}</p>
      <form onSubmit={submit} className="stack">
        <label htmlFor="key">API key</label>
        <input
          id="key"
          type="password"
          autoComplete="off"
          aria-describedby="key-note"
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <p id="key-note" className="soft">
          The key is stored until you close this tab, and is sent only to this service. The scope <code>operate</code>{' '}
          allows everything on this page, <code>write</code> allows changes to memories, and <code>read</code> allows
          only viewing.
        </p>
        <div className="actions">
          <button type="submit" className="primary">
            Sign in
          </button>
        </div>
      </form>
    </section>
  );
}
