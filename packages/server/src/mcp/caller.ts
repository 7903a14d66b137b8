import type { MemoryApi, Scope } from '@memoryd/contract';

/** Who calls, as far as tools, resources and prompts are concerned. */
export interface McpCaller {
  /** The memories of the caller's namespace. */
  api: MemoryApi;
  /** What the caller may do. Everybody who is let in may read. */
  scope: Scope;
}
