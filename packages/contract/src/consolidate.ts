import { ConsolidationId, Content, Count, EvictionReason, MemoryId } from './field.ts';
import { LIMITS } from './limits.ts';
import Type, { type TProperties } from './typebox.ts';

export const ConsolidateRequest = Type.Object(
  {
    min_age_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 315_360_000,
        default: 0,
        description: 'Promote only what was stored at least so many seconds ago.',
        'x-must': 'be a whole number of seconds from 0 to 315360000',
      }),
    ),
    dry_run: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Answer what would happen, and change nothing.',
        'x-must': 'be true or false',
      }),
    ),
  },
  { additionalProperties: false },
);
export type ConsolidateRequest = Type.Static<typeof ConsolidateRequest>;

/** Memories that a run would change, the first of which are named. */
function planned<Item extends TProperties>(description: string, item: Item) {
  return Type.Object(
    { total: Count, memories: Type.Array(Type.Object(item), { maxItems: LIMITS.plannedMemories }) },
    { description },
  );
}

export const ConsolidationPlan = Type.Object(
  {
    promote: planned('Would become episodic.', { id: MemoryId }),
    merge: planned('Would leave recall for a duplicate with the same text.', { id: MemoryId, merged_into: MemoryId }),
    distil: planned('Would be distilled, or distilled anew where `refreshes` names a semantic memory.', {
      content: Content,
      derived_from: Type.Array(MemoryId, { description: 'Oldest first.' }),
      refreshes: Type.Optional(MemoryId),
    }),
    evict: planned('Would leave recall for the archive.', { id: MemoryId, reason: EvictionReason }),
  },
  { description: 'There in answers to `dry_run=true`.' },
);
export type ConsolidationPlan = Type.Static<typeof ConsolidationPlan>;

export const ConsolidateResponse = Type.Object({
  status: Type.Enum(['consolidated', 'planned'], { description: '`planned` where nothing was changed.' }),
  consolidated_count: Type.Integer({ minimum: 0, description: 'Memories that promoted or were distilled.' }),
  evicted_count: Type.Integer({
    minimum: 0,
    description: 'Memories that left recall: merged into a duplicate, or evicted.',
  }),
  id: Type.Optional(ConsolidationId),
  self_check: Type.Optional(
    Type.Enum(['passed', 'failed'], {
      description:
        'Whether a sample of the memories is recalled by its own words as before. Where not, the run took itself back.',
    }),
  ),
  plan: Type.Optional(ConsolidationPlan),
});
export type ConsolidateResponse = Type.Static<typeof ConsolidateResponse>;
