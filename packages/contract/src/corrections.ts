import { Count, Cursor, Limit, MemoryId, NextCursor, Timestamp, timestamp } from './field.ts';
import { ownerFields, scopeFields } from './scope.ts';
import Type from './typebox.ts';

const states = ['pending', 'accepted', 'declined'] as const;

export const CorrectionState = Type.Enum([...states], {
  description: '`pending`: nobody has decided yet. `accepted`, `declined`: the last decision.',
  'x-must': `be one of ${states.join(', ')}`,
});
export type CorrectionState = Type.Static<typeof CorrectionState>;

/** Lists suggested corrections in one state, latest first, one page at a time. */
export const CorrectionsRequest = Type.Object(
  {
    ...scopeFields,
    state: Type.Optional(Type.Enum([...states], { ...CorrectionState, default: 'pending' })),
    limit: Type.Optional(Limit),
    cursor: Type.Optional(Cursor),
  },
  { additionalProperties: false },
);
export type CorrectionsRequest = Type.Static<typeof CorrectionsRequest>;

const CorrectionId = Type.String({
  description: 'The id of the correction.',
  'x-must': 'be a string, the id of a correction',
});
export const CorrectionPath = Type.Object({ id: CorrectionId });

/** A memory of a suggested correction, with its current text. */
export const CorrectionMemory = Type.Object({ id: MemoryId, content: Type.String(), created_at: Timestamp });
export type CorrectionMemory = Type.Static<typeof CorrectionMemory>;

/** A suggestion that a later memory corrects an earlier one of the same user and agent. */
export const Correction = Type.Object({
  id: CorrectionId,
  state: CorrectionState,
  reason: Type.Enum(['change', 'number', 'date', 'name', 'negation'], {
    description:
      'The difference of the later memory. `change`: it says that something changed. `number`, `date`, `name`: it ' +
      'has another value of this kind; a name is that of a person, a thing or a place. ' +
      '`negation`: it says what the earlier one denies.',
  }),
  earlier: CorrectionMemory,
  later: CorrectionMemory,
  ...ownerFields,
  suggested_at: timestamp('Time of the consolidation that suggested the correction.'),
  decided_at: Type.Union([Timestamp, Type.Null()], { description: 'Time of the last decision. Null if pending.' }),
});
export type Correction = Type.Static<typeof Correction>;

export const CorrectionsResponse = Type.Object({
  corrections: Type.Array(Correction, { description: 'Latest first.' }),
  total: Count,
  next_cursor: Type.Optional(NextCursor),
});
export type CorrectionsResponse = Type.Static<typeof CorrectionsResponse>;

/** Accepts or declines a suggested correction. */
export const DecideCorrectionRequest = Type.Object(
  {
    accept: Type.Boolean({
      description:
        'True: the later memory supersedes the earlier one. False: nothing changes, and the pair is not suggested ' +
        'again. False for an accepted correction undoes the acceptance: it removes the link.',
      'x-must': 'be true or false',
    }),
  },
  { additionalProperties: false },
);
export type DecideCorrectionRequest = Type.Static<typeof DecideCorrectionRequest>;

export const DecideCorrectionResponse = Type.Object({ id: CorrectionId, state: Type.Enum(['accepted', 'declined']) });
export type DecideCorrectionResponse = Type.Static<typeof DecideCorrectionResponse>;
