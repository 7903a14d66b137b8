import { useState } from 'preact/compat';
import { useResource } from '../resource.ts';
import { getAddressInScope, getScope, goTo, useRoute } from '../route.ts';
import { type Memories, useService } from '../service.tsx';

/** Maximum number of suggested users. Other users can be typed. */
const MAX_SUGGESTIONS = 50;

const loadUsers = (memory: Memories, signal: AbortSignal) => memory.users({ limit: MAX_SUGGESTIONS }, { signal });

/** Selects the user and agent whose memories the page shows. The address stores the selection. */
export function ScopeChoice() {
  const { hasKey } = useService();
  const { view, params } = useRoute();
  const scope = getScope(params);
  const [user, setUser] = useState(scope?.userId ?? '');
  const [agent, setAgent] = useState(scope?.agentId ?? '');
  const [shared, setShared] = useState(scope?.shared ?? false);
  // Loaded when the field is used, because most views need no list of users.
  const [isUsed, setUsed] = useState(false);
  const { value } = useResource(isUsed ? loadUsers : undefined);
  // An API key may be bound to a user or agent. Such a key may not list users or see all memories.
  const seesAll = !hasKey || value !== undefined;
  const show = (event: Event) => {
    event.preventDefault();
    const chosen = { ...(user && { userId: user }), ...(agent && { agentId: agent }), ...(shared && { shared }) };
    goTo(getAddressInScope(user || agent ? chosen : undefined, view, params));
  };
  return (
    <form className="scope-choice" aria-label="User and agent" onSubmit={show}>
      <input
        aria-label="User"
        placeholder={seesAll ? 'All users' : 'User'}
        list="users"
        value={user}
        onFocus={() => setUsed(true)}
        onChange={(event) => setUser(event.currentTarget.value)}
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
        onChange={(event) => setAgent(event.currentTarget.value)}
      />
      <label className="inline">
        <input type="checkbox" checked={shared} onChange={(event) => setShared(event.currentTarget.checked)} />
        Include shared
      </label>
      <button type="submit">Apply</button>
      {scope && (
        <button type="button" className="quiet" onClick={() => goTo(getAddressInScope(undefined, view, params))}>
          Show all
        </button>
      )}
    </form>
  );
}
