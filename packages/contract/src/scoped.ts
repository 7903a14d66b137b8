import type { MemoryApi, MemoryScope, Scopable } from './api.ts';
import { hasForgetCondition, MUST_HAVE_CONDITION } from './forget-conditions.ts';
import { LIMITS } from './limits.ts';
import type { OwnScopeRequest } from './scope.ts';
import type { StoreBatchRequest } from './store-batch.ts';

/** Creates the error that a call is rejected with. */
type ToError = (code: 'INVALID_REQUEST' | 'FORBIDDEN', message: string) => Error;

/** The API that a scoped API was made from, and the scope between both. */
export interface Origin {
  api: MemoryApi;
  scope: MemoryScope;
}

/** A registered symbol, because this module can be loaded more than once. */
const ORIGIN = Symbol.for('memoryd.origin');

/** Returns the origin of a scoped API. Any other API is its own origin, with an empty scope. */
export function getOrigin(api: MemoryApi & { [ORIGIN]?: Origin }): Origin {
  return api[ORIGIN] ?? { api, scope: {} };
}

// Not enumerable: an object made by spreading the API may have other methods, so it is not the same API.
function withOrigin<Api extends MemoryApi>(api: Api, origin: Origin): Api {
  return Object.defineProperty(api, ORIGIN, { value: origin });
}

/**
 * Returns the API with the method `scope` added. Calls that a scope does not permit fail with an error created by
 * `toError`.
 */
export function withScopeBy<Api extends MemoryApi>(api: Api, toError: ToError): Scopable<Api> {
  const scopable: Scopable<Api> = {
    ...pickMethods(api),
    scope: (scope) => withScopeBy(scopedBy(api, scope, toError), toError) as Scopable<Api>,
  };
  return withOrigin(scopable, getOrigin(api));
}

function pickMethods<Api extends MemoryApi>(api: Api): Pick<Api, keyof MemoryApi> {
  // Spreading the object would miss methods of a class, which are on its prototype.
  const methods = api as unknown as Record<string, (...args: unknown[]) => unknown>;
  const names = Object.keys(MEMORY_API_METHODS);
  return Object.fromEntries(names.map((name) => [name, methods[name]?.bind(api)])) as Pick<Api, keyof MemoryApi>;
}

/**
 * Returns an API that is limited to one scope. See `Scopable`. Additional arguments, such as the call options of the
 * client, are passed to `api` unchanged.
 */
function scopedBy(api: MemoryApi, scope: MemoryScope, toError: ToError): MemoryApi {
  const own = toOwnScope(scope, toError);
  // In nested scopes, `shared` of the inner scope wins.
  const withShared = { shared: scope.shared === true };
  const forbidden = (message: string) => toError('FORBIDDEN', message);
  const within = <Request>(request: Request): Request => {
    // A request that is not an object cannot carry a user, so it would affect all users.
    if (!isObject(request)) throw toError('INVALID_REQUEST', 'request must be an object');
    for (const [field, id] of Object.entries(own)) {
      const asked = (request as Record<string, unknown>)[field] ?? id;
      if (asked !== id)
        throw forbidden(`${field} must match the ${field} that the API key or scope is restricted to, or be omitted`);
    }
    return { ...request, ...own };
  };
  const reading = <Request>(request: Request): Request => ({ ...withShared, ...within(request) });
  const writing = <Request>(request: Request): Request => {
    if (isObject(request) && 'shared' in request && request.shared) {
      throw forbidden(
        'shared must be false in a write: an API key or scope with a user or agent can read shared memories, but not change them',
      );
    }
    return within(request);
  };
  const withinEach = (requests: StoreBatchRequest): StoreBatchRequest =>
    // Items that are not objects are rejected individually by `storeBatch`.
    Array.isArray(requests) ? requests.map((request) => (isObject(request) ? within(request) : request)) : requests;
  const forbidNamespaceWide = async (): Promise<never> => {
    throw forbidden(
      'this operation affects the whole namespace, so it needs an API key or client that is not restricted to a user or agent',
    );
  };
  const scoped: MemoryApi = {
    store: async (request, ...rest) => api.store(within(request), ...rest),
    storeBatch: async (requests, ...rest) => api.storeBatch(withinEach(requests), ...rest),
    recall: async (request, ...rest) => api.recall(reading(request), ...rest),
    context: async (request, ...rest) => api.context(reading(request), ...rest),
    session: async (request, ...rest) => api.session(reading(request), ...rest),
    sessions: async (request = {}, ...rest) => api.sessions(reading(request), ...rest),
    users: forbidNamespaceWide,
    memory: async (memoryId, request = {}, ...rest) => api.memory(memoryId, reading(request), ...rest),
    history: async (memoryId, request = {}, ...rest) => api.history(memoryId, reading(request), ...rest),
    memories: async (request = {}, ...rest) => api.memories(reading(request), ...rest),
    update: async (memoryId, request, condition = {}, ...rest) =>
      api.update(memoryId, request, writing(condition), ...rest),
    forget: async (memoryId, condition = {}, ...rest) => api.forget(memoryId, writing(condition), ...rest),
    forgetMany: async (request, ...rest) => {
      const scopedRequest = writing(request);
      // The scope is no condition: a program that leaves out its condition must not forget all memories of a user.
      if (!hasForgetCondition(request)) throw toError('INVALID_REQUEST', `request must ${MUST_HAVE_CONDITION}`);
      return api.forgetMany(scopedRequest, ...rest);
    },
    consolidate: forbidNamespaceWide,
    consolidations: forbidNamespaceWide,
    consolidation: forbidNamespaceWide,
    undo: forbidNamespaceWide,
    corrections: async (request = {}, ...rest) => api.corrections(reading(request), ...rest),
    decideCorrection: async (correctionId, request, condition = {}, ...rest) =>
      api.decideCorrection(correctionId, request, writing(condition), ...rest),
    events: (request = {}, ...rest) => api.events(reading(request), ...rest),
    exportMemories: (request = {}, ...rest) => api.exportMemories(reading(request), ...rest),
    importMemories: async (lines, request = {}, ...rest) => api.importMemories(lines, writing(request), ...rest),
    importTexts: async (texts, request, ...rest) => api.importTexts(texts, writing(request), ...rest),
    imports: async (request = {}, ...rest) => api.imports(writing(request), ...rest),
    undoImport: async (importId, request = {}, ...rest) => api.undoImport(importId, writing(request), ...rest),
    stats: async (request = {}, ...rest) => api.stats(reading(request), ...rest),
  };
  const origin = getOrigin(api);
  return withOrigin(scoped, { api: origin.api, scope: { ...origin.scope, ...scope } });
}

/**
 * Validates a scope and returns its fields for a request. An empty scope is rejected: a user id that is omitted by
 * mistake must not select all users.
 */
function toOwnScope(scope: MemoryScope, toError: ToError): OwnScopeRequest {
  const { shared = false, ...ids }: MemoryScope = isObject(scope) ? scope : {};
  if (typeof shared !== 'boolean') throw toError('INVALID_REQUEST', 'shared must be true or false');
  const given = Object.entries(ids);
  if (given.length === 0 || given.some(([name]) => !Object.hasOwn(FIELDS, name))) {
    throw toError(
      'INVALID_REQUEST',
      'scope must contain a userId, an agentId, or both, and no other field except shared',
    );
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

/** The method names of `MemoryApi`. */
export const MEMORY_API_METHODS: Readonly<Record<keyof MemoryApi, true>> = {
  store: true,
  storeBatch: true,
  recall: true,
  context: true,
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
  corrections: true,
  decideCorrection: true,
  events: true,
  exportMemories: true,
  importMemories: true,
  importTexts: true,
  imports: true,
  undoImport: true,
  stats: true,
};
