import { type FormEvent, useState } from 'react';
import { useService } from '../service.tsx';
import { Notice } from './notice.tsx';

/** Asks for an API key, and says where it goes. */
export function KeyForm({ why }: { why: string }) {
  const { showKey, hasKey } = useService();
  const [typed, setTyped] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (typed.trim() !== '') showKey(typed.trim());
  };
  return (
    <section className="narrow" aria-labelledby="key-title">
      <h1 id="key-title">This service asks for a key</h1>
      {hasKey && <Notice kind="error">That key was not accepted.</Notice>}
      <p className="soft">{why}</p>
      <form onSubmit={submit} className="stack">
        <label htmlFor="key">API key</label>
        <input
          id="key"
          type="password"
          autoComplete="off"
          spellCheck={false}
          aria-describedby="key-note"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        <p id="key-note" className="soft">
          It is kept in this tab alone, until the tab is closed, and shown to this service and nobody else. A key that
          may
          <code> operate</code> sees everything here; one that may <code>read</code> can look, and change nothing.
        </p>
        <div className="actions">
          <button type="submit" className="primary">
            Use this key
          </button>
        </div>
      </form>
    </section>
  );
}
