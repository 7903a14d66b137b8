import type { MemoryApi, MemoryScope, Scopable } from './api.ts';
import { LIMITS } from './limits.ts';
import type { OwnScopeRequest } from './scope.ts';
import type { StoreBatchRequest } from './store-batch.ts';

/** Makes the error that a call is refused with. */
type ToError = (code: 'INVALID_REQUEST' | 'FORBIDDEN', message: string) => Error;

/** Returns memories that have the method `scope`; what it refuses is refused with these errors. */
export function withScopeBy<Api extends MemoryApi>(api: Api, toError: ToError): Scopable<Api> {
  return {
    ...pickMethods(api),
    scope: (scope) => withScopeBy(scopedBy(api, scope, toError), toError) as Scopable<Api>,
  };
}

function pickMethods<Api extends MemoryApi>(api: Api): Pick<Api, keyof MemoryApi> {
  // Not a copy of its fields: a class has its methods elsewhere.
  const methods = api as unknown as Record<string, (...args: unknown[]) => unknown>;
  const names = Object.keys(MEMORY_API_METHODS);
  return Object.fromEntries(names.map((name) => [name, methods[name]?.bind(api)])) as Pick<Api, keyof MemoryApi>;
}

/**
 * Returns memories as those of one scope alone. What a method takes beyond the arguments of `MemoryApi` is passed on. See
 * `Scopable`.
 */
function scopedBy(api: MemoryApi, scope: MemoryScope, toError: ToError): MemoryApi {
  const own = toOwnScope(scope, toError);
  // Of a scope within a scope, the inner one decides.
  const withShared = { shared: scope.shared === true };
  const forbidden = (message: string) => toError('FORBIDDEN', message);
  const within = <Request>(request: Request): Request => {
    // Anything else could say nothing of a user, and so be about all.
    if (!isObject(request)) throw toError('INVALID_REQUEST', 'a request must be an object');
    for (const [field, id] of Object.entries(own)) {
      const asked = (request as Record<string, unknown>)[field] ?? id;
      if (asked !== id) throw forbidden(`${field} must be the one that the key or scope is bound to`);
    }
    return { ...request, ...own };
  };
  const reading = <Request>(request: Request): Request => ({ ...withShared, ...within(request) });
  const writing = <Request>(request: Request): Request => {
    if (isObject(request) && 'shared' in request && request.shared) {
      throw forbidden('memories without a user or agent may be read here and not changed');
    }
    return within(request);
  };
  const withinEach = (requests: StoreBatchRequest): StoreBatchRequest =>
    // Items that are no objects are refused one by one.
    Array.isArray(requests) ? requests.map((request) => (isObject(request) ? within(request) : request)) : requests;
  const aboutAll = async (): Promise<never> => {
    throw forbidden('this is about the whole namespace, and the key or scope is bound to a user or an agent');
  };
  return {
    store: async (request, ...rest) => api.store(within(request), ...rest),
    storeBatch: async (requests, ...rest) => api.storeBatch(withinEach(requests), ...rest),
    recall: async (request, ...rest) => api.recall(reading(request), ...rest),
    session: async (request, ...rest) => api.session(reading(request), ...rest),
    sessions: async (request = {}, ...rest) => api.sessions(reading(request), ...rest),
    users: aboutAll,
    memory: async (memoryId, request = {}, ...rest) => api.memory(memoryId, reading(request), ...rest),
    history: async (memoryId, request = {}, ...rest) => api.history(memoryId, reading(request), ...rest),
    memories: async (request = {}, ...rest) => api.memories(reading(request), ...rest),
    update: async (memoryId, request, condition = {}, ...rest) =>
      api.update(memoryId, request, writing(condition), ...rest),
    forget: async (memoryId, condition = {}, ...rest) => api.forget(memoryId, writing(condition), ...rest),
    forgetMany: async (request, ...rest) => api.forgetMany(writing(request), ...rest),
    consolidate: aboutAll,
    consolidations: aboutAll,
    consolidation: aboutAll,
    undo: aboutAll,
    events: (request = {}, ...rest) => api.events(reading(request), ...rest),
    exportMemories: (request = {}, ...rest) => api.exportMemories(reading(request), ...rest),
    importMemories: async (lines, request = {}, ...rest) => api.importMemories(lines, writing(request), ...rest),
    stats: async (request = {}, ...rest) => api.stats(reading(request), ...rest),
  };
}

/** Refuses a scope of nobody: a user that is left out by mistake must not be everyone. */
function toOwnScope(scope: MemoryScope, toError: ToError): OwnScopeRequest {
  const { shared = false, ...ids }: MemoryScope = isObject(scope) ? scope : {};
  if (typeof shared !== 'boolean') throw toError('INVALID_REQUEST', 'shared must be true or false');
  const given = Object.entries(ids);
  if (given.length === 0 || given.some(([name]) => !Object.hasOwn(FIELDS, name))) {
    throw toError('INVALID_REQUEST', 'scope must hold a userId, an agentId, or both, and nothing else but shared');
  }
  return Object.fromEntries(
    given.map(([name, id]) => {
      if (typeof id === 'string' && id !== '' && [...id].length <= LIMITS.userIdChars) {
        return [FIELDS[name as keyof typeof FIELDS], id];
      }
      throw toError('INVALID_REQUEST', `${name} must be a string of 1 to ${LIMITS.userIdChars} characters`);
    }),
  );
}

const FIELDS = { userId: 'user_id', agentId: 'agent_id' } as const satisfies Record<'userId' | 'agentId', string>;

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The methods of a `MemoryApi`, by their names. */
export const MEMORY_API_METHODS: Readonly<Record<keyof MemoryApi, true>> = {
  store: true,
  storeBatch: true,
  recall: true,
  session: true,
  sessions: true,
  users: true,
  memory: true,
  history: true,
  memories: true,
  update: true,
  forget: true,
  forgetMany: true,
  consolidate: true,
  consolidations: true,
  consolidation: true,
  undo: true,
  events: true,
  exportMemories: true,
  importMemories: true,
  stats: true,
};
