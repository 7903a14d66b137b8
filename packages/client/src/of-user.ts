import type { MemoryApi } from '@memoryd/contract';
import { withScope } from './with-scope.ts';

/** Whose memories a helper works with. */
export interface OfUser {
  /** The end user, of 1 to 256 characters. `null` says that the store has one user, so that all of it is theirs. */
  userId: string | null;
  /** The agent that works for the user, of 1 to 256 characters; any agent where absent. */
  agentId?: string | undefined;
}

/**
 * Returns the memories of one user, of which nothing called through them can leave. Throws TypeError where no user is given:
 * it would be everyone.
 */
export function scopeToUser(memory: MemoryApi, of: OfUser): MemoryApi {
  // Callers without types may give nothing at all.
  const { userId, agentId }: Partial<OfUser> = of ?? {};
  if (userId !== null && typeof userId !== 'string') {
    throw new TypeError('userId must be the id of the end user, or null where the store has one user');
  }
  if (userId === null && agentId === undefined) return memory;
  return withScope(memory).scope({
    ...(userId !== null && { userId }),
    ...(agentId !== undefined && { agentId }),
  });
}
