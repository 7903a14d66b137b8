import type { MemoryScope, Scope } from '@memoryd/contract';

/** The access that a route requires: a scope that includes this scope, or `anyone` for a route that needs no key. */
export type Access = Scope | 'anyone';

/**
 * The result of authentication: the memories that the caller can access, and the operations that the caller may
 * perform.
 */
export interface Caller {
  namespace: string;
  scope: Scope;
  /** The user that the key is bound to; absent if the key is bound to no user. */
  userId?: string;
  /** The agent that the key is bound to; absent if the key is bound to no agent. */
  agentId?: string;
  /** The public id of the API key; absent for a request without a key. */
  keyId?: string;
}

/** Returns the user and the agent that a caller is bound to; `undefined` if the caller is bound to neither. */
export function getBinding({ userId, agentId }: Pick<Caller, 'userId' | 'agentId'>): MemoryScope | undefined {
  if (userId === undefined && agentId === undefined) return undefined;
  return { ...(userId !== undefined && { userId }), ...(agentId !== undefined && { agentId }) };
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The access that the route requires. Defaults to `operate`. */
    access?: Access;
  }
  interface FastifyRequest {
    caller: Caller;
  }
}
