import type { MemoryScope, ScopeRequest } from '@memoryd/client';
import { useMemo, useSyncExternalStore } from 'react';

/** Where in the page one is: the name of a view and what it shows. Kept after the `#`, which no server is told. */
export interface Place {
  view: string;
  asked: URLSearchParams;
}

/** The parts of an address that say whose memories are shown. */
const SCOPE = ['user_id', 'agent_id', 'shared'] as const;

/** Whose memories the page shows, as an address says it; undefined for those of all. */
export function getScope(asked: URLSearchParams): MemoryScope | undefined {
  const [userId, agentId] = [asked.get('user_id'), asked.get('agent_id')];
  if (!userId && !agentId) return undefined;
  const shared = asked.get('shared') === 'true';
  return { ...(userId && { userId }), ...(agentId && { agentId }), ...(shared && { shared }) };
}

/** The address of a place; conditions without a value are left out. It stays with whose memories are shown now. */
export function getAddress(view: string, asked: Record<string, string> | URLSearchParams = {}): string {
  const query = new URLSearchParams(asked);
  const now = askedNow();
  for (const name of SCOPE) if (!query.has(name) && now.has(name)) query.set(name, now.get(name) ?? '');
  return written(view, query);
}

/** The address of a place for whose memories are to be shown from now on; undefined shows those of all. */
export function addressFor(scope: MemoryScope | undefined, view: string, asked: URLSearchParams): string {
  const query = new URLSearchParams(asked);
  for (const name of SCOPE) query.delete(name);
  if (scope?.userId) query.set('user_id', scope.userId);
  if (scope?.agentId) query.set('agent_id', scope.agentId);
  if (scope?.shared) query.set('shared', 'true');
  return written(view, query);
}

/** Whose memories an address asks for, as a request says it. */
export function requestScope(asked: URLSearchParams): ScopeRequest {
  const { userId, agentId, shared } = getScope(asked) ?? {};
  return {
    ...(userId !== undefined && { user_id: userId }),
    ...(agentId !== undefined && { agent_id: agentId }),
    ...(shared && { shared }),
  };
}

/** Whether a memory is of the user and agent that an address asks for: those that are shared may only be read there. */
export function isOwn(memory: { user_id?: string; agent_id?: string }, asked: URLSearchParams): boolean {
  const { userId = memory.user_id, agentId = memory.agent_id } = getScope(asked) ?? {};
  return memory.user_id === userId && memory.agent_id === agentId;
}

/** The address of a session: that of one user, where it is a user's. */
export function sessionAddress(id: string, user_id: string | undefined): string {
  return getAddress('session', { id, ...(user_id !== undefined && { user_id }) });
}

function written(view: string, query: URLSearchParams): string {
  return query.size === 0 ? `#/${view}` : `#/${view}?${query}`;
}

/** Goes to a place; `replace` leaves the one before out of the history. */
export function goTo(address: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  dispatchEvent(new Event('hashchange'));
}

/** The place shown now; changes with links and with the browser's buttons. */
export function usePlace(): Place {
  const hash = useSyncExternalStore(subscribe, () => location.hash);
  return useMemo(() => getPlace(hash), [hash]);
}

/** The conditions of the place shown now, for who acts later than they were asked. */
export const askedNow = (): URLSearchParams => getPlace(location.hash).asked;

function subscribe(changed: () => void): () => void {
  addEventListener('hashchange', changed);
  return () => removeEventListener('hashchange', changed);
}

function getPlace(hash: string): Place {
  const [view = '', query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  return { view, asked: new URLSearchParams(query) };
}
