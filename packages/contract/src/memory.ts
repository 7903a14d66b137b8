import {
  Content,
  Count,
  ExternalId,
  Importance,
  MemoryId,
  Metadata,
  SessionIdOrNull,
  Source,
  Tags,
  Tier,
  Timestamp,
} from './field.ts';
import { ownerFields } from './scope.ts';
import Type from './typebox.ts';
import { revisionField } from './validity.ts';

/** A complete memory, as returned by `GET /memories/{id}`. */
export const Memory = Type.Object({
  id: MemoryId,
  content: Content,
  ...revisionField,
  tags: Tags,
  importance: Importance,
  source: Source,
  session_id: SessionIdOrNull,
  ...ownerFields,
  external_id: Type.Optional(ExternalId),
  tier: Tier,
  metadata: Metadata,
  created_at: Timestamp,
  updated_at: Timestamp,
  expires_at: Type.Union([Timestamp, Type.Null()]),
  valid_from: Type.Union([Timestamp, Type.Null()], {
    description: 'Time from which the memory holds, inclusive. Null stands for `created_at`.',
  }),
  valid_to: Type.Union([Timestamp, Type.Null()], {
    description: 'Time from which the memory no longer holds. Null if it has no end.',
  }),
  supersedes: Type.Union([MemoryId, Type.Null()], { description: 'The memory that this one supersedes.' }),
  superseded_by: Type.Union([MemoryId, Type.Null()], {
    description: 'The memory that replaces this one at present, or at the time in `as_of`.',
  }),
  merged_into: Type.Union([MemoryId, Type.Null()], {
    description: 'The visible duplicate that consolidation merged this memory into. Null if it was not merged.',
  }),
  derived_from: Type.Array(MemoryId, {
    description: 'The sources that a semantic memory was distilled from, oldest first. Empty in other tiers.',
  }),
  access_count: Count,
  accessed_at: Type.Union([Timestamp, Type.Null()]),
  retention: Type.Number({
    minimum: 0,
    maximum: 1,
    description:
      'Estimated probability that the memory is still useful, from 0 to 1, as of now. It falls with time and rises with use and importance.',
  }),
  version: Type.Integer({
    minimum: 1,
    description: 'Increases by one with every client write to this memory. Nothing else changes it.',
  }),
});
export type Memory = Type.Static<typeof Memory>;
