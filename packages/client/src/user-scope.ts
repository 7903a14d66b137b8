import type { MemoryApi } from '@memoryd/contract';
import { withScope } from './with-scope.ts';

/** The user, and optionally the agent, whose memories are used. */
export interface UserScope {
  /** The end user, 1 to 256 characters. Use `null` if the store has only one user, to whom all memories belong. */
  userId: string | null;
  /** The agent that works for the user, 1 to 256 characters. Any agent if absent. */
  agentId?: string | undefined;
}

/**
 * Returns an API that is limited to the memories of one user. With `userId: null` and no agent, returns `memory`
 * unchanged.
 *
 * @throws TypeError if `userId` is missing, because the API would otherwise access the memories of all users
 */
export function scopeToUser(memory: MemoryApi, scope: UserScope): MemoryApi {
  // JavaScript callers may pass undefined.
  const { userId, agentId }: Partial<UserScope> = scope ?? {};
  if (userId !== null && typeof userId !== 'string') {
    throw new TypeError('userId must be a string, the id of the end user, or null if the store has only one user');
  }
  if (userId === null && agentId === undefined) return memory;
  return withScope(memory).scope({
    ...(userId !== null && { userId }),
    ...(agentId !== undefined && { agentId }),
  });
}
