import {
  ConsolidationId,
  Count,
  Cursor,
  EvictionReason,
  Importance,
  Limit,
  MemoryId,
  NextCursor,
  Tags,
  Timestamp,
} from './field.ts';
import Type from './typebox.ts';

const pageFields = { limit: Type.Optional(Limit), cursor: Type.Optional(Cursor) };

/** Asks for the runs of consolidation, newest first, a page at a time. */
export const ConsolidationsRequest = Type.Object(pageFields, { additionalProperties: false });
export type ConsolidationsRequest = Type.Static<typeof ConsolidationsRequest>;

const consolidationFields = {
  id: ConsolidationId,
  status: Type.Enum(['running', 'completed', 'undoing', 'undone', 'reverted'], {
    description: 'Under way, done, being taken back, taken back, or taken back by itself before it was done.',
  }),
  started_at: Timestamp,
  ended_at: Type.Union([Timestamp, Type.Null()]),
  consolidated_count: Type.Integer({ minimum: 0, description: 'Memories that promoted or were distilled.' }),
  evicted_count: Type.Integer({
    minimum: 0,
    description: 'Memories that left recall: merged into a duplicate, or evicted.',
  }),
  notes: Type.Record(Type.String(), Type.Unknown(), { description: 'What else there is to say of the run.' }),
};

/** One run of consolidation. */
export const Consolidation = Type.Object(consolidationFields);
export type Consolidation = Type.Static<typeof Consolidation>;

export const ConsolidationsResponse = Type.Object({
  consolidations: Type.Array(Consolidation, { description: 'Newest first.' }),
  total: Count,
  next_cursor: Type.Optional(NextCursor),
});
export type ConsolidationsResponse = Type.Static<typeof ConsolidationsResponse>;

/** Asks for one run of consolidation with what it did, a page of changes at a time. */
export const ConsolidationRequest = Type.Object(
  { id: ConsolidationId, ...pageFields },
  { additionalProperties: false },
);
export type ConsolidationRequest = Type.Static<typeof ConsolidationRequest>;

/** What a run did to one memory. */
export const ConsolidationChange = Type.Object({
  kind: Type.Enum(['promoted', 'merged', 'moved', 'gained', 'distilled', 'refreshed', 'corrected', 'evicted'], {
    description:
      '`promoted`: it became episodic. `merged`: it left recall for its duplicate `merged_into`. `moved`: merged before, it ' +
      'followed its duplicate into another. `gained`: it got tags, importance or uses of its duplicates. `distilled`: it was made of others. ' +
      '`refreshed`: it was made anew, of others than before or of what they say now. `corrected`: it came to rank ' +
      'below the memory that corrects it. `evicted`: it left recall.',
  }),
  memory_id: MemoryId,
  merged_into: Type.Optional(
    Type.Union([MemoryId, Type.Null()], { description: 'Null where that memory has been forgotten.' }),
  ),
  derived_from: Type.Optional(
    Type.Array(MemoryId, { description: 'What it was distilled from, or had been before it was distilled anew.' }),
  ),
  superseded_by: Type.Optional(
    Type.Union([MemoryId, Type.Null()], { description: 'Null where that memory has been forgotten.' }),
  ),
  reason: Type.Optional(EvictionReason),
  before: Type.Optional(
    Type.Object({ tags: Tags, importance: Importance }, { description: 'What the memory had before it gained.' }),
  ),
});
export type ConsolidationChange = Type.Static<typeof ConsolidationChange>;

export const ConsolidationResponse = Type.Object({
  ...consolidationFields,
  changes: Type.Array(ConsolidationChange, {
    description: 'In the order in which they were made; those of memories that have been forgotten are left out.',
  }),
  total: Type.Integer({ minimum: 0, description: 'Changes in all.' }),
  next_cursor: Type.Optional(NextCursor),
});
export type ConsolidationResponse = Type.Static<typeof ConsolidationResponse>;

export const UndoResponse = Type.Object({ status: Type.Literal('undone'), id: ConsolidationId });
export type UndoResponse = Type.Static<typeof UndoResponse>;
