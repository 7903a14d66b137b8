import { type MemoryApi, type MemoryScope, type Scope, withScope } from '@memoryd/contract';

/** The access of a caller of tools, resources and prompts. */
export interface McpCaller {
  /** The memories of the caller's namespace. */
  api: MemoryApi;
  /** The operations that the caller may perform, at least `read`. */
  scope: Scope;
}

/**
 * Limits a caller to the memories of a user, an agent or both. Reduces the scope `operate` to `write`, because
 * `operate` concerns the whole namespace. Without a memory scope, returns the caller unchanged.
 */
export function scopedCaller({ api, scope }: McpCaller, memoryScope: MemoryScope | undefined): McpCaller {
  if (!memoryScope) return { api, scope };
  return { api: withScope(api).scope(memoryScope), scope: scope === 'operate' ? 'write' : scope };
}
