import { type MemoryApi, type MemoryScope, type Scope, withScope } from '@memoryd/contract';

/** Who calls, as far as tools, resources and prompts are concerned. */
export interface McpCaller {
  /** The memories of the caller's namespace. */
  api: MemoryApi;
  /** What the caller may do. Everybody who is let in may read. */
  scope: Scope;
}

/** Returns a caller who sees one scope alone, where there is one, and may not do what is about the whole namespace. */
export function scopedCaller({ api, scope }: McpCaller, of: MemoryScope | undefined): McpCaller {
  if (!of) return { api, scope };
  return { api: withScope(api).scope(of), scope: scope === 'operate' ? 'write' : scope };
}
