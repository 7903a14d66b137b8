import {
  ConsolidationId,
  Count,
  Cursor,
  EvictionReason,
  Importance,
  Limit,
  MemoryId,
  memoryId,
  NextCursor,
  Tags,
  Timestamp,
} from './field.ts';
import { LIMITS } from './limits.ts';
import Type from './typebox.ts';

const pageFields = { limit: Type.Optional(Limit), cursor: Type.Optional(Cursor) };

/** Lists consolidation runs, newest first, one page at a time. */
export const ConsolidationsRequest = Type.Object(pageFields, { additionalProperties: false });
export type ConsolidationsRequest = Type.Static<typeof ConsolidationsRequest>;

export const ConsolidationStatus = Type.Enum(['running', 'completed', 'undoing', 'undone', 'reverted'], {
  description:
    '`running`: in progress. `completed`: finished. `undoing`: an undo is in progress. `undone`: undone by a client. ' +
    '`reverted`: rolled back by the service before it finished.',
});
export type ConsolidationStatus = Type.Static<typeof ConsolidationStatus>;

export const ConsolidationNotes = Type.Record(Type.String(), Type.Unknown(), {
  description: 'Additional information about the run.',
});
export type ConsolidationNotes = Type.Static<typeof ConsolidationNotes>;

const consolidationFields = {
  id: ConsolidationId,
  status: ConsolidationStatus,
  started_at: Timestamp,
  ended_at: Type.Union([Timestamp, Type.Null()]),
  consolidated_count: Type.Integer({ minimum: 0, description: 'Number of memories that were promoted or distilled.' }),
  evicted_count: Type.Integer({
    minimum: 0,
    description: 'Number of memories that were merged into a duplicate or evicted.',
  }),
  notes: ConsolidationNotes,
};

/** Status, times and counts of one consolidation run. */
export const Consolidation = Type.Object(consolidationFields);
export type Consolidation = Type.Static<typeof Consolidation>;

export const ConsolidationsResponse = Type.Object({
  consolidations: Type.Array(Consolidation, { description: 'Newest first.' }),
  total: Count,
  next_cursor: Type.Optional(NextCursor),
});
export type ConsolidationsResponse = Type.Static<typeof ConsolidationsResponse>;

/** Requests one consolidation run and its changes, one page of changes at a time. */
export const ConsolidationRequest = Type.Object(
  { id: ConsolidationId, ...pageFields },
  { additionalProperties: false },
);
export type ConsolidationRequest = Type.Static<typeof ConsolidationRequest>;

/** One change that a run made to one memory. */
export const ConsolidationChange = Type.Object({
  kind: Type.Enum(['promoted', 'merged', 'moved', 'gained', 'distilled', 'refreshed', 'corrected', 'evicted'], {
    description:
      '`promoted`: the memory became episodic. `merged`: it was merged into its duplicate `merged_into`. ' +
      '`moved`: it had been merged before, and its duplicate was merged into another. `gained`: it received tags, ' +
      'importance or access counts from its duplicates. `distilled`: it was distilled from other memories. ' +
      '`refreshed`: it was distilled again, because its sources changed. `corrected`: it was superseded by ' +
      '`superseded_by`. `evicted`: it was evicted to the archive.',
  }),
  memory_id: MemoryId,
  merged_into: Type.Optional(
    Type.Union([MemoryId, Type.Null()], { description: 'Null if that memory has been forgotten.' }),
  ),
  derived_from: Type.Optional(
    Type.Array(MemoryId, {
      description: 'The sources of a distilled memory, or the previous sources of a refreshed memory.',
    }),
  ),
  superseded_by: Type.Optional(
    Type.Union([MemoryId, Type.Null()], { description: 'Null if that memory has been forgotten.' }),
  ),
  reason: Type.Optional(EvictionReason),
  before: Type.Optional(
    Type.Object(
      { tags: Tags, importance: Importance },
      { description: 'Tags and importance of the memory before a `gained` change.' },
    ),
  ),
});
export type ConsolidationChange = Type.Static<typeof ConsolidationChange>;

/** A later run that an undo of a run has to undo too. */
export const LaterConsolidation = Type.Object({ id: ConsolidationId, started_at: Timestamp });
export type LaterConsolidation = Type.Static<typeof LaterConsolidation>;

/** The later runs that an undo of a run has to undo too. */
export const LaterConsolidations = Type.Object(
  {
    total: Count,
    consolidations: Type.Array(LaterConsolidation, {
      maxItems: LIMITS.laterConsolidations,
      description: `The newest ${LIMITS.laterConsolidations}, newest first.`,
    }),
  },
  {
    description:
      'The later runs that changed something and are not undone. They have to be undone before this run, or together ' +
      'with it (`with_later`). Present while the status is `completed`.',
  },
);
export type LaterConsolidations = Type.Static<typeof LaterConsolidations>;

export const ConsolidationResponse = Type.Object({
  ...consolidationFields,
  changes: Type.Array(ConsolidationChange, {
    description: 'In the order in which the changes were made. Changes of forgotten memories are omitted.',
  }),
  total: Type.Integer({ minimum: 0, description: 'Total number of changes.' }),
  next_cursor: Type.Optional(NextCursor),
  later: Type.Optional(LaterConsolidations),
});
export type ConsolidationResponse = Type.Static<typeof ConsolidationResponse>;

/** Options of the undo of a run. */
export const UndoRequest = Type.Object(
  {
    with_later: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Also undo the later runs that changed something, newest first.',
        'x-must': 'be true or false',
      }),
    ),
    memory_id: Type.Optional(
      memoryId(
        'Undo only the changes that the run made to this memory. The rest of the run stays, and can still be undone. Not with `with_later`.',
      ),
    ),
  },
  { additionalProperties: false },
);
export type UndoRequest = Type.Static<typeof UndoRequest>;

export const UndoResponse = Type.Object({
  status: Type.Literal('undone'),
  id: ConsolidationId,
  also_undone: Type.Optional(
    Type.Array(ConsolidationId, {
      description: 'The later runs that were undone too, newest first. Absent if there were none.',
    }),
  ),
});
export type UndoResponse = Type.Static<typeof UndoResponse>;
