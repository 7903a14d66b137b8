import { ExternalId, MemoryId, requestTime, SessionId, Source, Tag } from './field.ts';
import { filterFields } from './filter.ts';
import { MUST_HAVE_CONDITION } from './forget-conditions.ts';
import { LIMITS } from './limits.ts';
import { scopeFields } from './scope.ts';
import Type from './typebox.ts';

const purge = Type.Optional(
  Type.Literal('pending', {
    description:
      'Present while deleted bytes may still be on disk. With SQLite, they are overwritten within 5 seconds after the last concurrent reader or backup has finished. With PostgreSQL, they remain until the table is vacuumed.',
  }),
);

export const ForgetResponse = Type.Object({
  status: Type.Literal('forgotten'),
  id: MemoryId,
  also_forgotten: Type.Optional(
    Type.Array(MemoryId, {
      description:
        'Ids of hidden duplicates that were merged into this memory, and of semantic memories that had no other source.',
    }),
  ),
  remaining_duplicates: Type.Optional(
    Type.Array(MemoryId, {
      description:
        'If this memory was a hidden duplicate: ids of the memories merged with it that still have its text. Forget the visible memory to forget all of them.',
    }),
  ),
  purge,
});
export type ForgetResponse = Type.Static<typeof ForgetResponse>;

/** Selects the memories to forget: the memories that meet all conditions. At least one condition is required. */
export const ForgetManyRequest = Type.Object(
  {
    ...scopeFields,
    id: Type.Optional(
      Type.Array(MemoryId, {
        minItems: 1,
        maxItems: LIMITS.forgottenIds,
        description: 'Only memories with these ids. Ids of memories that do not exist are ignored.',
        'x-must': `be given 1 to ${LIMITS.forgottenIds} times, each time with the id of a memory`,
      }),
    ),
    session_id: Type.Optional(SessionId),
    tag: Type.Optional(Tag),
    source: Type.Optional(Source),
    external_id: Type.Optional(ExternalId),
    metadata: filterFields.metadata,
    filter: filterFields.filter,
    before: Type.Optional(requestTime('Only memories with an earlier `created_at`.')),
  },
  {
    additionalProperties: false,
    minProperties: 1,
    'x-must': MUST_HAVE_CONDITION,
  },
);
export type ForgetManyRequest = Type.Static<typeof ForgetManyRequest>;

export const ForgetManyResponse = Type.Object({
  status: Type.Literal('forgotten'),
  forgotten_count: Type.Integer({
    minimum: 0,
    description:
      'Number of forgotten memories, including their hidden duplicates and semantic memories that have no source left.',
  }),
  purge,
});
export type ForgetManyResponse = Type.Static<typeof ForgetManyResponse>;
