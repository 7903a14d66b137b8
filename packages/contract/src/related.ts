import { MemoryId } from './field.ts';
import { DEFAULTS, LIMITS } from './limits.ts';
import { Memory } from './memory.ts';
import { scopeFields } from './scope.ts';
import Type from './typebox.ts';

/** Lists the memories that speak of the same thing as one memory. */
export const RelatedRequest = Type.Object(
  {
    ...scopeFields,
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.related,
        default: DEFAULTS.related,
        description: 'Maximum number of memories.',
        'x-must': `be a whole number from 1 to ${LIMITS.related}`,
      }),
    ),
  },
  { additionalProperties: false },
);
export type RelatedRequest = Type.Static<typeof RelatedRequest>;

export const RelatedMemory = Type.Object({
  memory: Memory,
  score: Type.Number({ minimum: 0, maximum: 1, description: 'Similarity of the two texts, from 0 to 1.' }),
});
export type RelatedMemory = Type.Static<typeof RelatedMemory>;

export const RelatedResponse = Type.Object({
  id: MemoryId,
  related: Type.Array(RelatedMemory, {
    description: 'By meaning, best first. By words where no embedding model is available.',
  }),
});
export type RelatedResponse = Type.Static<typeof RelatedResponse>;
