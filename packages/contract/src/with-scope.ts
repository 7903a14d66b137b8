import type { MemoryApi, Scopable } from './api.ts';
import { MemoryError } from './errors.ts';
import { withScopeBy } from './scoped.ts';

/** Returns the API with the method `scope` added. */
export function withScope<Api extends MemoryApi>(api: Api): Scopable<Api> {
  return withScopeBy(api, (code, message) => new MemoryError(code, message));
}
