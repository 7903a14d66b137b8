import { DEFAULTS, LIMITS } from './limits.ts';
import { listFields } from './memories.ts';
import Type from './typebox.ts';

const fields = ['tag', 'session_id', 'source', 'tier', 'user_id', 'agent_id'] as const;

/** A metadata field in a request for a facet: everything after the first dot is the name of the field. */
const METADATA_FIELD = '^metadata\\.[\\s\\S]+$';

/** Lists the values that a field has among the memories that match a filter. */
export const FacetsRequest = Type.Object(
  {
    ...listFields,
    field: Type.String({
      pattern: `^(?:${fields.join('|')})$|${METADATA_FIELD}`,
      maxLength: LIMITS.wordsChars,
      description: `The field: ${fields.map((field) => `\`${field}\``).join(', ')}, or \`metadata.NAME\` for a top-level metadata field. Objects, arrays, null and texts over ${LIMITS.facetValueChars} characters are no values.`,
      'x-must': `be one of ${fields.join(', ')}, or metadata.NAME with the name of a top-level metadata field`,
    }),
    prefix: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: LIMITS.wordsChars,
        description: 'Only values that begin with this text. Case does not matter.',
        'x-must': `be a string of 1 to ${LIMITS.wordsChars} characters`,
      }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.facetValues,
        default: DEFAULTS.facetValues,
        description: 'Maximum number of values.',
        'x-must': `be a whole number from 1 to ${LIMITS.facetValues}`,
      }),
    ),
  },
  { additionalProperties: false },
);
export type FacetsRequest = Type.Static<typeof FacetsRequest>;

/** A value of a field, and the number of memories that have it. */
export const FacetValue = Type.Object({
  value: Type.String({
    description:
      'The value, a number or a boolean as its JSON text. Empty for memories without a user or agent; memories without any other field are not counted.',
  }),
  count: Type.Integer({ minimum: 1, description: 'Number of memories.' }),
});
export type FacetValue = Type.Static<typeof FacetValue>;

export const FacetsResponse = Type.Object({
  values: Type.Array(FacetValue, { description: 'Most frequent first; equally frequent ones ordered by value.' }),
  total: Type.Integer({ minimum: 0, description: 'Number of different values with the prefix.' }),
  counted_count: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: `Number of memories that were counted: the newest ${LIMITS.countedMemories.toLocaleString('en')}. Present if more match. A value may then have more memories than its count, and values of older memories may be missing. Never present for \`user_id\` without a filter, and for \`session_id\` with at most \`user_id\` and \`agent_id\` as filter: all memories are counted.`,
    }),
  ),
});
export type FacetsResponse = Type.Static<typeof FacetsResponse>;
