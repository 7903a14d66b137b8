import type { MemoryApi, MemoryScope, Scopable } from './api.ts';
import { hasForgetCondition, MUST_HAVE_CONDITION, SELECTION_MUST } from './forget-conditions.ts';
import { MAX_OWNER_ID_CHARS } from './limits.ts';
import type { OwnScopeRequest } from './scope.ts';

type AnyMethod = (...args: unknown[]) => unknown;

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
  const methods = api as unknown as Record<string, AnyMethod | undefined>;
  return Object.fromEntries(METHODS.map((name) => [name, methods[name]?.bind(api)])) as unknown as Api;
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
  const withinEach = (requests: unknown): unknown =>
    // Items that are not objects are rejected individually by `storeBatch`.
    Array.isArray(requests) ? requests.map((request) => (isObject(request) ? within(request) : request)) : requests;
  const forbidNamespaceWide = async (): Promise<never> => {
    throw forbidden(
      'this operation affects the whole namespace, so it needs an API key or client that is not restricted to a user or agent',
    );
  };
  const limit = { own: within, read: reading, write: writing };
  const getCall = (name: keyof MemoryApi): AnyMethod => {
    const rule = RULES[name];
    if (!rule) return forbidNamespaceWide;
    const call: AnyMethod = (...args) => (api[name] as AnyMethod).apply(api, args);
    const toArguments = (args: unknown[]): unknown[] => {
      const { at = 0, as, isOptional } = rule;
      const copy = [...args];
      const given = copy[at];
      copy[at] = as === 'each' ? withinEach(given) : limit[as](isOptional && given === undefined ? {} : given);
      // The scope is no condition: a program that leaves out its condition must not forget all memories of a user.
      if (rule.must !== undefined && !hasForgetCondition(given as object)) {
        throw toError('INVALID_REQUEST', rule.must);
      }
      return copy;
    };
    return rule.isStream ? (...args) => call(...toArguments(args)) : async (...args) => call(...toArguments(args));
  };
  const scoped = Object.fromEntries(METHODS.map((name) => [name, getCall(name)])) as unknown as MemoryApi;
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
      if (typeof id === 'string' && id !== '' && [...id].length <= MAX_OWNER_ID_CHARS) {
        return [FIELDS[name as keyof typeof FIELDS], id];
      }
      throw toError('INVALID_REQUEST', `${name} must be a string of 1 to ${MAX_OWNER_ID_CHARS} characters`);
    }),
  );
}

const FIELDS = { userId: 'user_id', agentId: 'agent_id' } as const satisfies Record<'userId' | 'agentId', string>;

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** How a scope limits the calls of a method. */
interface Rule {
  /** Index of the request among the arguments. The first one by default. */
  at?: number;
  /**
   * `own`: the request gets the user and agent of the scope. `read`: `shared`, too. `write`: the request must not name
   * shared memories. `each`: each item of a batch as `own`.
   */
  as: 'own' | 'read' | 'write' | 'each';
  isOptional?: boolean;
  /** Whether the method returns an iterator instead of a promise. */
  isStream?: boolean;
  /** The request must have a condition besides its scope: the message if it has none. */
  must?: string;
}

const READ: Rule = { as: 'read' };
const READ_ANY: Rule = { as: 'read', isOptional: true };
const READ_ONE: Rule = { ...READ_ANY, at: 1 };
const READ_STREAM: Rule = { ...READ_ANY, isStream: true };
const WRITE_ANY: Rule = { as: 'write', isOptional: true };
const WRITE_ONE: Rule = { ...WRITE_ANY, at: 1 };
const WRITE_AFTER: Rule = { ...WRITE_ANY, at: 2 };

/** How a scope limits each method; undefined for methods that affect the whole namespace. */
const RULES: Readonly<Record<keyof MemoryApi, Rule | undefined>> = {
  store: { as: 'own' },
  storeBatch: { as: 'each' },
  recall: READ,
  context: READ,
  session: READ,
  sessions: READ_ANY,
  users: undefined,
  memory: READ_ONE,
  history: READ_ONE,
  memories: READ_ANY,
  facets: READ,
  growth: READ,
  map: READ_ANY,
  related: READ_ONE,
  recalls: READ_ANY,
  update: WRITE_AFTER,
  updateMany: { as: 'write', must: `selection must ${SELECTION_MUST}` },
  undoChange: WRITE_ONE,
  forget: WRITE_ONE,
  forgetMany: { as: 'write', must: `request must ${MUST_HAVE_CONDITION}` },
  consolidate: undefined,
  consolidations: undefined,
  consolidation: undefined,
  undo: undefined,
  corrections: READ_ANY,
  decideCorrection: WRITE_AFTER,
  events: READ_STREAM,
  exportMemories: READ_STREAM,
  importMemories: WRITE_ONE,
  importTexts: { as: 'write', at: 1 },
  imports: WRITE_ANY,
  undoImport: WRITE_ONE,
  stats: READ_ANY,
};

/** The method names of `MemoryApi`. */
export const METHODS = Object.keys(RULES) as (keyof MemoryApi)[];
