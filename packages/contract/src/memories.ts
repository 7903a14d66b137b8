import { Cursor, Limit, MemoryIdPart, NextCursor, requestTime, timestamp } from './field.ts';
import { filterFields } from './filter.ts';
import { LIMITS } from './limits.ts';
import { Memory } from './memory.ts';
import { TierCounts } from './stats.ts';
import { TIME_MUST } from './time.ts';
import Type from './typebox.ts';
import { validityFields } from './validity.ts';

/** Words of memories in a list, as a person types them. */
export const WordsQuery = Type.String({
  minLength: 1,
  maxLength: LIMITS.wordsChars,
  pattern: '\\S',
  description:
    'Only memories whose text has all of these words. The last word may be the beginning of a word. Case and accents do not matter.',
  'x-must': `be a string of 1 to ${LIMITS.wordsChars} characters, at least one of them not blank`,
});

const orders = ['created', 'changed', 'importance', 'use', 'retention'] as const;
const directions = ['desc', 'asc'] as const;

/** The selection of a list of memories. Spread into request schemas. */
export const listFields = {
  ...filterFields,
  ...validityFields,
  q: Type.Optional(WordsQuery),
};
const ListFields = Type.Object(listFields);
export type ListFields = Type.Static<typeof ListFields>;

/**
 * Lists the memories that match the filter, by default newest first, one page at a time, optionally with their growth
 * over time.
 */
export const MemoriesRequest = Type.Object(
  {
    ...listFields,
    id: Type.Optional(MemoryIdPart),
    order: Type.Optional(
      Type.Enum([...orders], {
        default: 'created',
        description:
          'What the memories are ordered by: `created_at`, `updated_at`, `importance`, `access_count` or `retention`. ' +
          `Equal ones are ordered by \`created_at\`. By use and retention, only the newest ${LIMITS.countedMemories.toLocaleString('en')} are ordered.`,
        'x-must': `be one of ${orders.join(', ')}`,
      }),
    ),
    dir: Type.Optional(
      Type.Enum([...directions], {
        default: 'desc',
        description: '`desc`: newest or highest first. `asc`: oldest or lowest first.',
        'x-must': `be one of ${directions.join(', ')}`,
      }),
    ),
    offset: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: LIMITS.offset,
        default: 0,
        description:
          'Number of memories before the first one of the page. To go further in a list by `created`, move `until` or ' +
          '`since`. Not with `cursor`.',
        'x-must': `be a whole number from 0 to ${LIMITS.offset}`,
      }),
    ),
    growth_at: Type.Optional(
      Type.Array(requestTime('A time at which memories are counted.'), {
        minItems: 1,
        maxItems: LIMITS.growthMoments,
        description:
          'Times for `growth`. For each time, the response counts the memories that match the filter with a `created_at` ' +
          'up to that time. A date without a time means the end of that day in UTC.',
        'x-must': `be 1 to ${LIMITS.growthMoments} values, each of which must ${TIME_MUST}`,
      }),
    ),
    limit: Type.Optional(Limit),
    cursor: Type.Optional(Cursor),
  },
  { additionalProperties: false },
);
export type MemoriesRequest = Type.Static<typeof MemoriesRequest>;

/** Number of memories that match the filter, by tier, with a `created_at` up to the time `at`. */
export const GrowthPoint = Type.Object({ at: timestamp('The time.'), ...TierCounts.properties });
export type GrowthPoint = Type.Static<typeof GrowthPoint>;

export const MemoriesResponse = Type.Object({
  memories: Type.Array(Memory, { description: 'In the order of the request, by default newest first.' }),
  total: Type.Integer({
    minimum: 0,
    description: 'Number of memories that match the filter. With `q`, at most `counted_count`.',
  }),
  counted_count: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: `Number of memories in \`total\`: ${LIMITS.countedMemories.toLocaleString('en')}. Present if \`q\` is given and more match, which are not counted.`,
    }),
  ),
  growth: Type.Optional(
    Type.Array(GrowthPoint, {
      description:
        'Number of memories that match the filter, by tier, up to each time in `growth_at`, in the same order. Absent without `growth_at`.',
    }),
  ),
  ordered_count: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: `Number of memories that were ordered: the newest ${LIMITS.countedMemories.toLocaleString('en')}. Present if more match, and the order is by use or retention.`,
    }),
  ),
  next_cursor: Type.Optional(
    Type.String({
      ...NextCursor,
      description:
        'Pass this value as `cursor` to get the next page. Absent on the last page, and in a list that is not ordered by `created`; use `offset` there.',
    }),
  ),
});
export type MemoriesResponse = Type.Static<typeof MemoriesResponse>;
