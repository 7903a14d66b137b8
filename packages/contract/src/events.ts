import { Count, MemoryId, SessionId, Source, Timestamp } from './field.ts';
import { FilterExpression } from './filter-expression.ts';
import { ImportId } from './imports.ts';
import { LIMITS } from './limits.ts';
import { RedactedSecrets } from './redacted.ts';
import { ownerFields, scopeFields } from './scope.ts';
import Type from './typebox.ts';

const EVENT_TYPES = ['stored', 'updated', 'forgotten', 'recalled', 'consolidation', 'import'] as const;

export const EventType = Type.Enum([...EVENT_TYPES], {
  description: 'The type of the event.',
  'x-must': `be one of ${EVENT_TYPES.join(', ')}`,
});
export type EventType = Type.Static<typeof EventType>;

/** Subscribes to events from now on, or after the event `last_event_id`. */
export const EventsRequest = Type.Object(
  {
    type: Type.Optional(
      Type.Array(EventType, {
        minItems: 1,
        maxItems: EVENT_TYPES.length,
        description: 'Event types to send. Defaults to all types.',
        'x-must': `be given 1 to ${EVENT_TYPES.length} times, each time with one of ${EVENT_TYPES.join(', ')}`,
      }),
    ),
    ...scopeFields,
    filter: Type.Optional(FilterExpression),
    last_event_id: Type.Optional(Type.String({ description: 'The id of the last event that the client received.' })),
  },
  { additionalProperties: false },
);
export type EventsRequest = Type.Static<typeof EventsRequest>;

const eventFields = {
  id: Type.String({ description: 'Pass this value as `last_event_id` to resume the stream after this event.' }),
  at: Timestamp,
};

/** An operation on memories. Contains neither the texts of memories nor queries. */
export const MemoriesEvent = Type.Object(
  {
    ...eventFields,
    type: Type.Enum(['stored', 'updated', 'forgotten', 'recalled']),
    ...ownerFields,
    memory_ids: Type.Array(MemoryId, {
      maxItems: LIMITS.eventIds,
      description: `Ids of the memories, at most ${LIMITS.eventIds}. Recalled memories are ordered best first.`,
    }),
    count: Type.Integer({
      minimum: 0,
      description:
        'Total number of memories, with `filter` of those that match. It exceeds the length of `memory_ids` if the list was shortened or if the memories were forgotten by a filter; then there is an event for each 1,000.',
    }),
    source: Type.Optional(
      Type.String({ ...Source, description: 'The source of stored memories, if all have the same source.' }),
    ),
    session_id: Type.Optional(
      Type.String({
        ...SessionId,
        description: 'The session of stored memories, if all have the same session; of a context, the asking session.',
      }),
    ),
    project: Type.Optional(
      Type.String({
        maxLength: LIMITS.projectChars,
        description:
          'The project of stored memories, if all have the same project: their `metadata.project`, or the name in their ' +
          'tag `project:NAME`. Of a context, the project that the filter of the request names.',
      }),
    ),
    redacted: Type.Optional(
      Type.Array(RedactedSecrets, {
        description: 'Secrets that were removed before the memories were stored, by kind. Absent if there were none.',
      }),
    ),
    context: Type.Optional(
      Type.Literal(true, {
        description: 'Present if an agent was given the memories as a context. They are then in the order of its text.',
      }),
    ),
  },
  { description: 'An operation on memories of one user and agent.' },
);
export type MemoriesEvent = Type.Static<typeof MemoriesEvent>;

export const ConsolidationEvent = Type.Object(
  {
    ...eventFields,
    type: Type.Literal('consolidation'),
    state: Type.Enum(['started', 'progress', 'completed', 'failed', 'undone', 'reverted']),
    run_id: Type.Optional(Type.String({ description: 'The id of the run. Absent until the run has ended.' })),
    changed_count: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'Number of changes since the previous event of the run. Present if `state` is `progress`.',
      }),
    ),
    consolidated_count: Type.Optional(Count),
    evicted_count: Type.Optional(Count),
  },
  { description: 'Progress of a consolidation run.' },
);
export type ConsolidationEvent = Type.Static<typeof ConsolidationEvent>;

export const ImportEvent = Type.Object(
  {
    ...eventFields,
    type: Type.Literal('import'),
    state: Type.Enum(['started', 'progress', 'completed', 'failed', 'undone']),
    import_id: ImportId,
    ...ownerFields,
    processed_count: Type.Integer({
      minimum: 0,
      description:
        'Number of texts that the import has processed: new, updated, unchanged and refused ones. If `state` is `undone`, the number of memories that the undo has forgotten.',
    }),
    expected_count: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Total number of texts, if the import states it.' }),
    ),
  },
  { description: 'Progress of an import.' },
);
export type ImportEvent = Type.Static<typeof ImportEvent>;

export const GapEvent = Type.Object(
  { ...eventFields, type: Type.Literal('gap') },
  {
    description:
      'First event of a resumed stream if events after `last_event_id` are no longer available. With `filter`, also in place of an event whose memories can no longer be matched.',
  },
);
export type GapEvent = Type.Static<typeof GapEvent>;

/** An event of a stream: an operation on memories, progress of a consolidation run or an import, or a gap in the stream. */
export const MemoryEvent = Type.Union([MemoriesEvent, ConsolidationEvent, ImportEvent, GapEvent], {
  description: 'An operation on memories, progress of a consolidation run or an import, or a gap in the stream.',
});
export type MemoryEvent = Type.Static<typeof MemoryEvent>;
