import { Cursor, Limit, MemoryIdPart, NextCursor, requestTime, timestamp } from './field.ts';
import { filterFields } from './filter.ts';
import { LIMITS } from './limits.ts';
import { Memory } from './memory.ts';
import { TierCounts } from './stats.ts';
import { TIME_MUST } from './time.ts';
import Type from './typebox.ts';
import { validityFields } from './validity.ts';

/**
 * Lists the memories that match the filter, newest first, one page at a time, optionally with their growth over time.
 */
export const MemoriesRequest = Type.Object(
  {
    ...filterFields,
    ...validityFields,
    id: Type.Optional(MemoryIdPart),
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
  memories: Type.Array(Memory, { description: 'Newest first.' }),
  total: Type.Integer({ minimum: 0, description: 'Number of memories that match the filter.' }),
  growth: Type.Optional(
    Type.Array(GrowthPoint, {
      description:
        'Number of memories that match the filter, by tier, up to each time in `growth_at`, in the same order. Absent without `growth_at`.',
    }),
  ),
  next_cursor: Type.Optional(NextCursor),
});
export type MemoriesResponse = Type.Static<typeof MemoriesResponse>;
