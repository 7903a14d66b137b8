import type { MemoryApi } from '@memoryd/contract';

/** What a tool asks of whoever calls it: to read, to write, or to operate the service; each includes those before. */
export type Scope = 'read' | 'write' | 'operate';

/** Who calls, as far as tools, resources and prompts are concerned. */
export interface Caller {
  /** The memories of the caller's namespace. */
  api: MemoryApi;
  /** Whether the caller may do what asks for a scope. Everybody who is let in may read. */
  may(scope: Scope): boolean;
}

/** Who holds the database file, or calls a service that asks for no key: may do everything. */
export function operator(api: MemoryApi): Caller {
  return { api, may: () => true };
}
