import { Count, requestTimeZone, timestamp } from './field.ts';
import { LIMITS } from './limits.ts';
import { listFields } from './memories.ts';
import Type from './typebox.ts';

const steps = ['day', 'week', 'month'] as const;
const fields = ['tier', 'source', 'tag', 'session_id', 'user_id', 'agent_id'] as const;

/** Counts the memories that match a filter by the period in which they were created. */
export const GrowthRequest = Type.Object(
  {
    ...listFields,
    step: Type.Enum([...steps], {
      description: 'The length of the periods. Weeks begin on Monday.',
      'x-must': `be one of ${steps.join(', ')}`,
    }),
    field: Type.Optional(
      Type.Enum([...fields], {
        description: 'Also counts the memories of each period by the most frequent values of this field.',
        'x-must': `be one of ${fields.join(', ')}`,
      }),
    ),
    timezone: Type.Optional(
      requestTimeZone('IANA time zone in which periods begin. Defaults to the time zone of the service.'),
    ),
  },
  { additionalProperties: false },
);
export type GrowthRequest = Type.Static<typeof GrowthRequest>;

/** The memories that were created in one period. */
export const GrowthStep = Type.Object({
  from: timestamp(
    'Begin of the period: its first midnight in the time zone, or the first time after it if the clocks skip midnight.',
  ),
  count: Type.Integer({ minimum: 0, description: 'Number of memories.' }),
  values: Type.Optional(
    Type.Array(Count, {
      description:
        'With `field`: numbers of memories by the values in `values` of the response, in the same order. A memory with several tags counts for each.',
    }),
  ),
});
export type GrowthStep = Type.Static<typeof GrowthStep>;

export const GrowthResponse = Type.Object({
  steps: Type.Array(GrowthStep, {
    maxItems: LIMITS.growthDays,
    description: `The periods in which memories were created, oldest first. Periods without a memory are left out. All memories that match are counted, except those before the newest ${LIMITS.growthDays.toLocaleString('en')} UTC days with memories.`,
  }),
  total: Type.Integer({ minimum: 0, description: 'Number of memories that match the filter.' }),
  values: Type.Optional(
    Type.Array(Type.String(), {
      maxItems: LIMITS.growthValues,
      description: 'With `field`: its most frequent values, most frequent first. An empty text stands for none.',
    }),
  ),
  counted_count: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: `With \`field\`: number of memories in the counts by value, the newest ${LIMITS.countedMemories.toLocaleString('en')}. Present if more match.`,
    }),
  ),
});
export type GrowthResponse = Type.Static<typeof GrowthResponse>;
