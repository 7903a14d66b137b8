import type { MemoryApi, Scope } from '@memoryd/contract';
import type { Engine } from '@memoryd/engine';

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

/** What a caller may see of the memories. Whoever does not operate the database is not told its size. */
export function apiFor(engine: Engine, { namespace, scope }: Caller): MemoryApi {
  const api = engine.namespace(namespace);
  if (scope === 'operate') return api;
  return {
    ...api,
    async stats() {
      const stats = await api.stats();
      return { ...stats, db_size_mb: stats.text_size_mb };
    },
  };
}
