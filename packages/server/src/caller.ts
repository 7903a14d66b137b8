import type { Scope } from '@memoryd/contract';

/** What a route asks of its callers: a key of at least this scope, or none at all. */
export type Access = Scope | 'anyone';

/** Who calls: whose memories they see, and what they may do with them. */
export interface Caller {
  namespace: string;
  scope: Scope;
  /** The public id of the key that they showed; absent where none was shown. */
  keyId?: string;
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
