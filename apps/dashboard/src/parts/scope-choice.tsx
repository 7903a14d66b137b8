import { type FormEvent, useState } from 'react';
import { useLoaded } from '../loading.ts';
import { addressFor, getScope, goTo, usePlace } from '../place.ts';
import type { Memories } from '../service.tsx';

/** Users that are suggested; any other may be typed. */
const SUGGESTED = 50;

const askUsers = (memory: Memories, signal: AbortSignal) => memory.users({ limit: SUGGESTED }, { signal });

/** Chooses whose memories the page shows. The address keeps the choice. */
export function ScopeChoice() {
  const { view, asked } = usePlace();
  const scope = getScope(asked);
  const [user, setUser] = useState(scope?.userId ?? '');
  const [agent, setAgent] = useState(scope?.agentId ?? '');
  const [shared, setShared] = useState(scope?.shared ?? false);
  const { value, error } = useLoaded(askUsers);
  // A key that is bound to a user or agent may not list users, and does not see all.
  const seesAll = error === undefined;
  const show = (event: FormEvent) => {
    event.preventDefault();
    const chosen = { ...(user && { userId: user }), ...(agent && { agentId: agent }), ...(shared && { shared }) };
    goTo(addressFor(user || agent ? chosen : undefined, view, asked));
  };
  return (
    <form className="scope-choice" aria-label="Whose memories are shown" onSubmit={show}>
      <input
        aria-label="User"
        placeholder={seesAll ? 'All users' : 'User'}
        list="users"
        value={user}
        onChange={(event) => setUser(event.target.value)}
      />
      <datalist id="users">
        {value?.users.map(({ user_id }) => (
          <option key={user_id} value={user_id} />
        ))}
      </datalist>
      <input
        aria-label="Agent"
        placeholder={seesAll ? 'All agents' : 'Agent'}
        value={agent}
        onChange={(event) => setAgent(event.target.value)}
      />
      <label className="inline">
        <input type="checkbox" checked={shared} onChange={(event) => setShared(event.target.checked)} />
        and shared
      </label>
      <button type="submit">Show</button>
      {scope && (
        <button type="button" className="quiet" onClick={() => goTo(addressFor(undefined, view, asked))}>
          Show all
        </button>
      )}
    </form>
  );
}
