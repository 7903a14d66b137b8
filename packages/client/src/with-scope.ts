import type { MemoryApi, Scopable } from '@memoryd/contract';
import { withScopeBy } from '@memoryd/contract/scoped';
import { MemoryError } from './memory-error.ts';

/** Returns the API with the method `scope` added. */
export function withScope<Api extends MemoryApi>(api: Api): Scopable<Api> {
  return withScopeBy(api, (code, message) => new MemoryError(code, message));
}
