import { ConsolidationId, Content, Count, EvictionReason, MemoryId, memoryId } from './field.ts';
import { LIMITS } from './limits.ts';
import Type, { type TSchema } from './typebox.ts';

export const ConsolidateRequest = Type.Object(
  {
    min_age_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 315_360_000,
        default: 0,
        description: 'Promote only memories that were stored at least this many seconds ago.',
        'x-must': 'be a whole number of seconds from 0 to 315360000',
      }),
    ),
    dry_run: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Return the planned changes without applying them.',
        'x-must': 'be true or false',
      }),
    ),
  },
  { additionalProperties: false },
);
export type ConsolidateRequest = Type.Static<typeof ConsolidateRequest>;

export const PlannedPromotion = Type.Object({ id: MemoryId });
export type PlannedPromotion = Type.Static<typeof PlannedPromotion>;

export const PlannedMerge = Type.Object({ id: MemoryId, merged_into: MemoryId });
export type PlannedMerge = Type.Static<typeof PlannedMerge>;

export const PlannedDistillation = Type.Object({
  content: Content,
  derived_from: Type.Array(MemoryId, { description: 'Oldest first.' }),
  refreshes: Type.Optional(memoryId('The semantic memory that would be distilled again.')),
});
export type PlannedDistillation = Type.Static<typeof PlannedDistillation>;

export const PlannedEviction = Type.Object({ id: MemoryId, reason: EvictionReason });
export type PlannedEviction = Type.Static<typeof PlannedEviction>;

/** Returns the schema of one part of a plan: the total number of memories, and a list of the first memories. */
function planned<Item extends TSchema>(description: string, item: Item) {
  return Type.Object(
    { total: Count, memories: Type.Array(item, { maxItems: LIMITS.plannedMemories }) },
    { description },
  );
}

export const ConsolidationPlan = Type.Object(
  {
    promote: planned('Memories that would become episodic.', PlannedPromotion),
    merge: planned('Memories that would be merged into a duplicate with the same text.', PlannedMerge),
    distil: planned(
      'Semantic memories that would be distilled, or updated if `refreshes` is present.',
      PlannedDistillation,
    ),
    evict: planned('Memories that would be evicted to the archive.', PlannedEviction),
  },
  { description: 'The planned changes. Present in responses to `dry_run=true`.' },
);
export type ConsolidationPlan = Type.Static<typeof ConsolidationPlan>;

export const ConsolidateResponse = Type.Object({
  status: Type.Enum(['consolidated', 'planned'], { description: '`planned` for a dry run, which changes nothing.' }),
  consolidated_count: Type.Integer({ minimum: 0, description: 'Number of memories that were promoted or distilled.' }),
  evicted_count: Type.Integer({
    minimum: 0,
    description: 'Number of memories that were merged into a duplicate or evicted.',
  }),
  id: Type.Optional(ConsolidationId),
  self_check: Type.Optional(
    Type.Enum(['passed', 'failed'], {
      description:
        'Whether a sample of the affected memories can still be recalled by its own words. If `failed`, the run was rolled back.',
    }),
  ),
  plan: Type.Optional(ConsolidationPlan),
});
export type ConsolidateResponse = Type.Static<typeof ConsolidateResponse>;
