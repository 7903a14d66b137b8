import {
  Content,
  Count,
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

/** One memory whole, as `GET /memories/{id}` answers it. */
export const Memory = Type.Object({
  id: MemoryId,
  content: Content,
  tags: Tags,
  importance: Importance,
  source: Source,
  session_id: SessionIdOrNull,
  ...ownerFields,
  tier: Tier,
  metadata: Metadata,
  created_at: Timestamp,
  updated_at: Timestamp,
  expires_at: Type.Union([Timestamp, Type.Null()]),
  supersedes: Type.Union([MemoryId, Type.Null()], { description: 'The memory that this one corrects.' }),
  superseded_by: Type.Union([MemoryId, Type.Null()], { description: 'The memory that corrects this one.' }),
  merged_into: Type.Union([MemoryId, Type.Null()], {
    description: 'The live duplicate with the same text, where consolidation merged this memory into it.',
  }),
  derived_from: Type.Array(MemoryId, {
    description: 'The memories that a semantic memory was distilled from, oldest first; empty in other tiers.',
  }),
  access_count: Count,
  accessed_at: Type.Union([Timestamp, Type.Null()]),
  retention: Type.Number({
    minimum: 0,
    maximum: 1,
    description:
      'How likely the memory is still to be of use, from 0 to 1, as of now: it falls with time and rises with use and importance.',
  }),
  version: Type.Integer({
    minimum: 1,
    description: 'Grows by one with every client write to this memory and with nothing else.',
  }),
});
export type Memory = Type.Static<typeof Memory>;
