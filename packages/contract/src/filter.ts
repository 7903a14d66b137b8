import { requestTime, SessionId, Source, Tag, Tier } from './field.ts';
import { LIMITS } from './limits.ts';
import { scopeFields } from './scope.ts';
import Type from './typebox.ts';

/** The fields of a filter, to be spread into the requests that take one. */
export const filterFields = {
  ...scopeFields,
  tag: Type.Optional(
    Type.Array(Tag, {
      minItems: 1,
      maxItems: LIMITS.tags,
      description: 'Tags that a memory must all carry.',
      'x-must': `be given at most ${LIMITS.tags} times, each time with 1 to ${LIMITS.tagChars} characters`,
    }),
  ),
  tier: Type.Optional(Tier),
  session_id: Type.Optional(SessionId),
  source: Type.Optional(Source),
  since: Type.Optional(
    requestTime('The earliest `created_at`, itself included. A date alone means its first instant in UTC.'),
  ),
  until: Type.Optional(
    requestTime('The latest `created_at`, itself included. A date alone means its last instant in UTC.'),
  ),
  metadata: Type.Optional(
    // Any key but an empty one: a dot alone would leave out line ends.
    Type.Record(Type.String({ pattern: '^[\\s\\S]+$' }), Type.String(), {
      additionalProperties: false,
      maxProperties: 16,
      description:
        'Top-level metadata fields and the values they must equal; numbers and booleans compare by their JSON text.',
      'x-must': 'be at most 16 pairs of a metadata field and the value it must equal',
    }),
  ),
};

/**
 * Which memories a request is about. All conditions must hold. `since` and `until` include their ends and look at
 * `created_at`.
 */
export const Filter = Type.Object(filterFields, { additionalProperties: false });
export type Filter = Type.Static<typeof Filter>;
