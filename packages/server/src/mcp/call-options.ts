import { assertValid, createCheck, LIMITS, type StoreOptions, type WriteCondition } from '@memoryd/contract';
import { Type } from '@memoryd/contract/typebox';

/**
 * Options of a call under `_meta`, for programs rather than models. The first two correspond to the headers
 * `Idempotency-Key` and `If-Match` of the REST interface.
 */
const CallMeta = Type.Object({
  'memoryd/idempotencyKey': Type.Optional(
    Type.String({ 'x-must': `be a string of 1 to ${LIMITS.idempotencyKeyChars} characters` }),
  ),
  'memoryd/ifVersions': Type.Optional(
    Type.Array(Type.Integer({ minimum: 1 }), {
      maxItems: 100,
      'x-must': 'be an array of at most 100 versions, each a whole number of at least 1',
    }),
  ),
  'memoryd/structured': Type.Optional(Type.Boolean({ 'x-must': 'be true or false' })),
});

const OWN_KEYS = Object.keys(CallMeta.properties);

const check = createCheck(CallMeta, '_meta');

interface CallOptions {
  /** Options of the operation. */
  operation: StoreOptions & WriteCondition;
  /** Whether the result also has structured content; undefined if the call leaves this to the connection. */
  structured: boolean | undefined;
}

/**
 * Reads the options of a call from its `_meta`. Null means that an option is absent.
 *
 * @throws MemoryError INVALID_REQUEST
 */
export function callOptions(meta: Record<string, unknown> = {}): CallOptions {
  // Other keys are ignored: `_meta` also contains data of clients and other extensions.
  const given = OWN_KEYS.filter((key) => Object.hasOwn(meta, key) && meta[key] !== null);
  const own = Object.fromEntries(given.map((key) => [key, meta[key]]));
  assertValid(check, own);
  const {
    'memoryd/idempotencyKey': idempotencyKey,
    'memoryd/ifVersions': ifVersions,
    'memoryd/structured': structured,
  } = own as Type.Static<typeof CallMeta>;
  return {
    operation: { ...(idempotencyKey !== undefined && { idempotencyKey }), ...(ifVersions && { ifVersions }) },
    structured,
  };
}
