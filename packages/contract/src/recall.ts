import Type from 'typebox';
import { Content, Count, DEFAULTS, LIMITS, MemoryId, memoryId, Tags } from './field.ts';
import { filterFields } from './filter.ts';

export const RecallRequest = Type.Object(
  {
    query: Type.String({
      minLength: 1,
      description: `What to look for, in natural language; 1 to ${LIMITS.queryChars} characters after trimming.`,
      'x-must': `be a string of 1 to ${LIMITS.queryChars} characters after trimming`,
    }),
    top_k: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.topK,
        default: DEFAULTS.topK,
        description: 'Most results to answer.',
        'x-must': `be a whole number from 1 to ${LIMITS.topK}`,
      }),
    ),
    ...filterFields,
    min_score: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description: 'Leave out results that score less.',
        'x-must': 'be a number from 0 to 1',
      }),
    ),
  },
  { additionalProperties: false },
);
export type RecallRequest = Type.Static<typeof RecallRequest>;

export const RecallResult = Type.Object({
  id: MemoryId,
  content: Content,
  score: Type.Number({ minimum: 0, maximum: 1, description: 'Relevance to the query, from 0 to 1.' }),
  tags: Tags,
  superseded_by: Type.Optional(memoryId('The memory that corrects this one.')),
});
export type RecallResult = Type.Static<typeof RecallResult>;

export const RecallResponse = Type.Object({
  results: Type.Array(RecallResult, { description: 'Best first.' }),
  total: Count,
  truncated: Type.Optional(
    Type.Literal(true, { description: 'There when the largest answer size cut the results short.' }),
  ),
});
export type RecallResponse = Type.Static<typeof RecallResponse>;
