import Type from 'typebox';

export const ConsolidateRequest = Type.Object(
  {
    min_age_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 315_360_000,
        default: 0,
        description: 'Settle only what was stored at least so many seconds ago.',
        'x-must': 'be a whole number of seconds from 0 to 315360000',
      }),
    ),
  },
  { additionalProperties: false },
);
export type ConsolidateRequest = Type.Static<typeof ConsolidateRequest>;

export const ConsolidateResponse = Type.Object({
  status: Type.Literal('consolidated'),
  consolidated_count: Type.Integer({ minimum: 0, description: 'Memories that settled or were distilled.' }),
  evicted_count: Type.Integer({ minimum: 0, description: 'Memories that left recall.' }),
});
export type ConsolidateResponse = Type.Static<typeof ConsolidateResponse>;
