import { Cursor, Limit, NextCursor, requestTime, timestamp } from './field.ts';
import { filterFields } from './filter.ts';
import { LIMITS } from './limits.ts';
import { Memory } from './memory.ts';
import { TierCounts } from './stats.ts';
import { TIME_MUST } from './time.ts';
import Type from './typebox.ts';

/**
 * Asks for the memories that pass the filter, newest first, a page at a time, and for how many of them there were by some
 * moments.
 */
export const MemoriesRequest = Type.Object(
  {
    ...filterFields,
    growth_at: Type.Optional(
      Type.Array(requestTime('A moment to count memories at.'), {
        minItems: 1,
        maxItems: LIMITS.growthMoments,
        description:
          'Moments for `growth`: for each, the memories that pass the filter are counted whose `created_at` is not ' +
          'later. A date alone means its last instant in UTC.',
        'x-must': `be given at most ${LIMITS.growthMoments} times, and each time ${TIME_MUST}`,
      }),
    ),
    limit: Type.Optional(Limit),
    cursor: Type.Optional(Cursor),
  },
  { additionalProperties: false },
);
export type MemoriesRequest = Type.Static<typeof MemoriesRequest>;

/** How many memories each tier holds now that had happened by a moment. */
export const GrowthPoint = Type.Object({ at: timestamp('The moment.'), ...TierCounts.properties });
export type GrowthPoint = Type.Static<typeof GrowthPoint>;

export const MemoriesResponse = Type.Object({
  memories: Type.Array(Memory, { description: 'Newest first.' }),
  total: Type.Integer({ minimum: 0, description: 'Memories that pass the filter.' }),
  growth: Type.Optional(
    Type.Array(GrowthPoint, {
      description:
        'The memories that pass the filter, by tier, up to each moment of `growth_at`, in its order; absent without one.',
    }),
  ),
  next_cursor: Type.Optional(NextCursor),
});
export type MemoriesResponse = Type.Static<typeof MemoriesResponse>;
