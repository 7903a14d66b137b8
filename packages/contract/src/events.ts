import { Count, MemoryId, Timestamp } from './field.ts';
import { LIMITS } from './limits.ts';
import { ownerFields, scopeFields } from './scope.ts';
import Type from './typebox.ts';

const EVENT_TYPES = ['stored', 'updated', 'forgotten', 'recalled', 'consolidation'] as const;

export const EventType = Type.Enum([...EVENT_TYPES], {
  description: 'What happened.',
  'x-must': `be one of ${EVENT_TYPES.join(', ')}`,
});
export type EventType = Type.Static<typeof EventType>;

/** Asks for what happens from now on, or from after an event that was seen before. */
export const EventsRequest = Type.Object(
  {
    type: Type.Optional(
      Type.Array(EventType, {
        minItems: 1,
        maxItems: EVENT_TYPES.length,
        description: 'Tell only of these; absent, of all.',
        'x-must': `be given at most ${EVENT_TYPES.length} times, each time with one of ${EVENT_TYPES.join(', ')}`,
      }),
    ),
    ...scopeFields,
    last_event_id: Type.Optional(Type.String({ description: 'The id of the last event that was seen.' })),
  },
  { additionalProperties: false },
);
export type EventsRequest = Type.Static<typeof EventsRequest>;

const eventFields = {
  id: Type.String({ description: 'Where the stream goes on after this event.' }),
  at: Timestamp,
};

/** Something was done with memories. It holds no text, neither theirs nor a query's. */
const MemoriesEvent = Type.Object(
  {
    ...eventFields,
    type: Type.Enum(['stored', 'updated', 'forgotten', 'recalled']),
    ...ownerFields,
    memory_ids: Type.Array(MemoryId, {
      maxItems: LIMITS.eventIds,
      description: 'The memories, as far as they are told; those recalled best first.',
    }),
    count: Type.Integer({
      minimum: 0,
      description: 'How many memories it was; more than are told where they were many, and where a filter forgot them.',
    }),
  },
  { description: 'What was done with memories of one user and agent.' },
);

const ConsolidationEvent = Type.Object(
  {
    ...eventFields,
    type: Type.Literal('consolidation'),
    state: Type.Enum(['started', 'progress', 'completed', 'failed', 'undone', 'reverted']),
    run_id: Type.Optional(Type.String({ description: 'The run, once it has come to its end.' })),
    changed_count: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Changes since the last event of the run; there with `progress`.' }),
    ),
    consolidated_count: Type.Optional(Count),
    evicted_count: Type.Optional(Count),
  },
  { description: 'How far a consolidation has come.' },
);

const GapEvent = Type.Object(
  { ...eventFields, type: Type.Literal('gap') },
  { description: 'Comes first where events after the last one seen can no longer be told.' },
);

/** What happened to the memories of a namespace. */
export const MemoryEvent = Type.Union([MemoriesEvent, ConsolidationEvent, GapEvent]);
export type MemoryEvent = Type.Static<typeof MemoryEvent>;
