import { Content, MemoryId, Timestamp } from './field.ts';
import { LIMITS } from './limits.ts';
import Type from './typebox.ts';

/** The part of `StoreOptions` that asks for similar memories. Over HTTP, a query parameter. */
export const SimilarRequest = Type.Object(
  {
    similar: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.similar,
        description:
          'Adds up to this number of similar memories to each stored memory, so that you can see what it may correct.',
        'x-must': `be a whole number from 1 to ${LIMITS.similar}`,
      }),
    ),
  },
  { additionalProperties: false },
);
export type SimilarRequest = Type.Static<typeof SimilarRequest>;

export const SimilarMemory = Type.Object({
  id: MemoryId,
  content: Content,
  created_at: Timestamp,
  score: Type.Number({ minimum: 0, maximum: 1, description: 'Similarity to the stored text, from 0 to 1.' }),
});
export type SimilarMemory = Type.Static<typeof SimilarMemory>;

export const Similar = Type.Optional(
  Type.Array(SimilarMemory, {
    description:
      'With `similar`: other memories of the same user and agent that hold now and speak of the same thing in other ' +
      'words, best first. Absent if they could not be searched, or did not fit into the response; the memory is stored ' +
      'nevertheless.',
  }),
);
