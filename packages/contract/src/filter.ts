import { ExternalId, requestTime, SessionId, Source, Tag, Tier } from './field.ts';
import { FilterExpression } from './filter-expression.ts';
import { LIMITS } from './limits.ts';
import { scopeFields } from './scope.ts';
import Type from './typebox.ts';

/** Top-level metadata fields and the texts of their values. */
export const MetadataFilter = Type.Record(
  // Any non-empty key. `.` would not match line terminators.
  Type.String({ pattern: '^[\\s\\S]+$' }),
  Type.String(),
  {
    additionalProperties: false,
    maxProperties: 16,
    // For OpenAPI, which has no patterns of names.
    propertyNames: { minLength: 1 },
    description:
      'Top-level metadata fields and the values they must equal. Numbers and booleans are compared by their JSON text.',
    'x-must':
      'be an object of at most 16 non-empty metadata field names, each with the text that the value of the field must equal',
  },
);

/** Filter fields. Spread into request schemas. */
export const filterFields = {
  ...scopeFields,
  filter: Type.Optional(FilterExpression),
  tag: Type.Optional(
    Type.Array(Tag, {
      minItems: 1,
      maxItems: LIMITS.tags,
      description: 'Only memories that have all of these tags.',
      'x-must': `be given 1 to ${LIMITS.tags} times, each time with a string of 1 to ${LIMITS.tagChars} characters`,
    }),
  ),
  tier: Type.Optional(Tier),
  session_id: Type.Optional(SessionId),
  source: Type.Optional(Source),
  external_id: Type.Optional(ExternalId),
  since: Type.Optional(
    requestTime('Earliest `created_at`, inclusive. A date without a time means the start of that day in UTC.'),
  ),
  until: Type.Optional(
    requestTime('Latest `created_at`, inclusive. A date without a time means the end of that day in UTC.'),
  ),
  metadata: Type.Optional(MetadataFilter),
};

/** Selects the memories that meet all conditions. `since` and `until` are inclusive and apply to `created_at`. */
export const Filter = Type.Object(filterFields, { additionalProperties: false });
export type Filter = Type.Static<typeof Filter>;
