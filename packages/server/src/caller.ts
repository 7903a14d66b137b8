import type { MemoryScope, Scope } from '@memoryd/contract';

/** What a route asks of its callers: a key of at least this scope, or none at all. */
export type Access = Scope | 'anyone';

/** Who calls: whose memories they see, and what they may do with them. */
export interface Caller {
  namespace: string;
  scope: Scope;
  /** The user and the agent that the key is bound to. */
  userId?: string;
  agentId?: string;
  /** The public id of the key that they showed; absent where none was shown. */
  keyId?: string;
}

/** Returns the user and the agent that a caller is bound to; undefined where it is bound to neither. */
export function getBinding({ userId, agentId }: Pick<Caller, 'userId' | 'agentId'>): MemoryScope | undefined {
  if (userId === undefined && agentId === undefined) return undefined;
  return { ...(userId !== undefined && { userId }), ...(agentId !== undefined && { agentId }) };
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Absent, a route is for operators. */
    access?: Access;
  }
  interface FastifyRequest {
    caller: Caller;
  }
}
