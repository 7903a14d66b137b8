import { Cursor, Limit, MemoryId, memoryId, NextCursor, SessionId, timestamp } from './field.ts';
import { LIMITS } from './limits.ts';
import { ownerFields, scopeFields } from './scope.ts';
import Type from './typebox.ts';

/** Lists the last recalls and contexts, newest first, one page at a time. */
export const RecallsRequest = Type.Object(
  {
    ...scopeFields,
    memory_id: Type.Optional(memoryId('Only recalls that returned this memory.')),
    limit: Type.Optional(Limit),
    cursor: Type.Optional(Cursor),
  },
  { additionalProperties: false },
);
export type RecallsRequest = Type.Static<typeof RecallsRequest>;

/** A recall, or a context that an agent was given. */
export const RememberedRecall = Type.Object({
  id: Type.String({ description: 'The id of the recall.' }),
  at: timestamp('Time of the recall.'),
  kind: Type.Enum(['recall', 'context'], { description: '`context`: an agent was given the memories.' }),
  query: Type.String({ description: 'The question. Empty for a context without one.' }),
  ...ownerFields,
  session_id: Type.Optional(Type.String({ ...SessionId, description: 'The session that asked, of a context.' })),
  results: Type.Array(
    Type.Object({
      memory_id: MemoryId,
      score: Type.Optional(
        Type.Number({
          minimum: 0,
          maximum: 1,
          description: 'Relevance. Absent for a memory that was given without a query.',
        }),
      ),
    }),
    {
      maxItems: LIMITS.eventIds,
      description: `The memories that were returned, best first, at most ${LIMITS.eventIds}.`,
    },
  ),
  count: Type.Integer({ minimum: 0, description: 'Number of memories that were returned.' }),
});
export type RememberedRecall = Type.Static<typeof RememberedRecall>;

export const RecallsResponse = Type.Object({
  recalls: Type.Array(RememberedRecall, { description: 'Newest first.' }),
  total: Type.Integer({ minimum: 0, description: 'Number of recalls that match.' }),
  is_remembered: Type.Boolean({
    description:
      'Whether recalls are remembered. They are not if questions are not logged (`SERVICE_LOG_QUERIES=false`). They are in memory only, and end with the process.',
  }),
  next_cursor: Type.Optional(NextCursor),
});
export type RecallsResponse = Type.Static<typeof RecallsResponse>;
