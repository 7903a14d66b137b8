import type { MemoryScope, ScopeRequest } from '@memoryd/client';
import { useMemo, useSyncExternalStore } from 'preact/compat';

/** A view and its parameters, both stored in the URL fragment, which browsers do not send to servers. */
export interface Route {
  view: string;
  params: URLSearchParams;
}

const SCOPE_PARAMS = ['user_id', 'agent_id', 'shared'] as const;

/** Returns the scope in a route's parameters, or undefined if all memories are shown. */
export function getScope(params: URLSearchParams): MemoryScope | undefined {
  const [userId, agentId] = [params.get('user_id'), params.get('agent_id')];
  if (!userId && !agentId) return undefined;
  const shared = params.get('shared') === 'true';
  return { ...(userId && { userId }), ...(agentId && { agentId }), ...(shared && { shared }) };
}

/** Returns the address of a view. Adds each scope parameter of the current address that `params` does not contain. */
export function getAddress(view: string, params: Record<string, string> | URLSearchParams = {}): string {
  const query = new URLSearchParams(params);
  const current = getCurrentParams();
  for (const name of SCOPE_PARAMS) if (!query.has(name) && current.has(name)) query.set(name, current.get(name) ?? '');
  return formatAddress(view, query);
}

/** Returns the current address with a memory open beside the view, or without one if the id is undefined. */
export function getOpenAddress(id: string | undefined): string {
  const { view, params } = parseHash(location.hash);
  if (id === undefined) params.delete('open');
  else params.set('open', id);
  return formatAddress(view, params);
}

/**
 * Opens a memory beside the view. A memory that is already open is replaced, so that Back closes the panel. To let Back
 * return to the memory that is open, follow a link instead.
 */
export function openMemory(id: string): void {
  const isOpen = getCurrentParams().has('open');
  if (isOpen) history.replaceState(history.state, '', getOpenAddress(id));
  else history.pushState({ isOpened: true }, '', getOpenAddress(id));
  dispatchEvent(new Event('hashchange'));
}

/** Closes the memory that is open. Goes back if the history entry was made to open it. */
export function closeMemory(): void {
  if (history.state?.isOpened === true) history.back();
  else goTo(getOpenAddress(undefined), { replace: true });
}

/**
 * Changes parameters of the current address; an empty or absent value removes a parameter. Reads the address when it is
 * called, so that a delayed call keeps what was changed before.
 */
export function setParams(changes: Readonly<Record<string, string | undefined>>, { replace = true } = {}): void {
  const { view, params } = parseHash(location.hash);
  for (const [name, value] of Object.entries(changes)) {
    if (value) params.set(name, value);
    else params.delete(name);
  }
  goTo(formatAddress(view, params), { replace });
}

/** Returns the parameters without some of them. */
export function withoutParams(params: URLSearchParams, ...names: readonly string[]): URLSearchParams {
  const copy = new URLSearchParams(params);
  for (const name of names) copy.delete(name);
  return copy;
}

/** Returns the address of a view in another scope; undefined is the scope of all memories. */
export function getAddressInScope(scope: MemoryScope | undefined, view: string, params: URLSearchParams): string {
  const query = new URLSearchParams(params);
  for (const name of SCOPE_PARAMS) query.delete(name);
  if (scope?.userId) query.set('user_id', scope.userId);
  if (scope?.agentId) query.set('agent_id', scope.agentId);
  if (scope?.shared) query.set('shared', 'true');
  return formatAddress(view, query);
}

/** Returns the scope in a route's parameters as fields of a request. */
export function getScopeRequest(params: URLSearchParams): ScopeRequest {
  const { userId, agentId, shared } = getScope(params) ?? {};
  return {
    ...(userId !== undefined && { user_id: userId }),
    ...(agentId !== undefined && { agent_id: agentId }),
    ...(shared && { shared }),
  };
}

/**
 * Returns whether a memory belongs to the user and agent of the scope. If the scope has no user or no agent, any user
 * or agent matches. A memory that is only shared with the scope is read-only there.
 */
export function isOwn(memory: { user_id?: string; agent_id?: string }, params: URLSearchParams): boolean {
  const { userId = memory.user_id, agentId = memory.agent_id } = getScope(params) ?? {};
  return memory.user_id === userId && memory.agent_id === agentId;
}

/** Returns the address of a session. Sessions of different users may share an id. */
export function getSessionAddress(id: string, user_id: string | undefined): string {
  return getAddress('session', { id, ...(user_id !== undefined && { user_id }) });
}

function formatAddress(view: string, query: URLSearchParams): string {
  return query.size === 0 ? `#/${view}` : `#/${view}?${query}`;
}

/** Navigates to an address; `replace` replaces the current history entry. */
export function goTo(address: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  dispatchEvent(new Event('hashchange'));
}

/**
 * Returns the current route, and rerenders the component when links or the browser's Back and Forward change the route.
 */
export function useRoute(): Route {
  const hash = useSyncExternalStore(subscribe, () => location.hash);
  return useMemo(() => parseHash(hash), [hash]);
}

/** Returns the parameters of the current address, for callbacks that run after rendering. */
export const getCurrentParams = (): URLSearchParams => parseHash(location.hash).params;

function subscribe(onChange: () => void): () => void {
  addEventListener('hashchange', onChange);
  return () => removeEventListener('hashchange', onChange);
}

function parseHash(hash: string): Route {
  const [view = '', query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  return { view, params: new URLSearchParams(query) };
}
