import { assertValid, createCheck, LIMITS, type StoreOptions, type WriteCondition } from '@memoryd/contract';
import { Type } from '@memoryd/contract/typebox';

/**
 * Options of a call under `_meta`, for programs rather than models. The options correspond to the headers
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
});

const OWN_KEYS = Object.keys(CallMeta.properties);

const check = createCheck(CallMeta, '_meta');

/**
 * Reads the options of a call from its `_meta`. Null means that an option is absent.
 *
 * @throws MemoryError INVALID_REQUEST
 */
export function callOptions(meta: Record<string, unknown> = {}): StoreOptions & WriteCondition {
  // Other keys are ignored: `_meta` also contains data of clients and other extensions.
  const given = OWN_KEYS.filter((key) => Object.hasOwn(meta, key) && meta[key] !== null);
  const own = Object.fromEntries(given.map((key) => [key, meta[key]]));
  assertValid(check, own);
  const { 'memoryd/idempotencyKey': idempotencyKey, 'memoryd/ifVersions': ifVersions } = own as Type.Static<
    typeof CallMeta
  >;
  return { ...(idempotencyKey !== undefined && { idempotencyKey }), ...(ifVersions && { ifVersions }) };
}
