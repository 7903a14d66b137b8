import { invalidRequest, type ScopeRequest } from '@memoryd/contract';
import type { Owner, OwnerFilter } from '../ports/storage-owner.ts';

/**
 * Returns the users and agents that a request is limited to. INVALID_REQUEST for `shared` without either: it would be as
 * if it asked for everyone's. See also `assertOwnerGiven`.
 */
export function toOwnerFilter(request: ScopeRequest): OwnerFilter {
  assertOwnerGiven(request);
  const { user_id, agent_id, shared } = request;
  if (shared && user_id === undefined && agent_id === undefined) {
    throw invalidRequest([{ path: '/shared', message: 'shared must come with user_id or agent_id' }]);
  }
  const withShared = (id: string) => (shared ? [id, ''] : [id]);
  return {
    ...(user_id !== undefined && { userIds: withShared(user_id) }),
    ...(agent_id !== undefined && { agentIds: withShared(agent_id) }),
  };
}

/**
 * INVALID_REQUEST for an id that a request names and that is undefined, such as that of a user whom an application did not
 * find: without it, the request would be about everyone.
 */
export function assertOwnerGiven(request: { user_id?: string; agent_id?: string }): void {
  for (const field of ['user_id', 'agent_id'] as const) {
    if (!(field in request) || request[field] !== undefined) continue;
    throw invalidRequest([{ path: `/${field}`, message: `${field} must not be undefined; leave it out to name none` }]);
  }
}

/** Returns the user and agent of a memory as answers tell of them. */
export function toOwner({ userId, agentId }: Owner): { user_id?: string; agent_id?: string } {
  return { ...(userId && { user_id: userId }), ...(agentId && { agent_id: agentId }) };
}
