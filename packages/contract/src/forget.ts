import { MemoryId, requestTime, SessionId, Source, Tag } from './field.ts';
import { filterFields } from './filter.ts';
import { scopeFields } from './scope.ts';
import Type from './typebox.ts';

const purge = Type.Optional(
  Type.Literal('pending', {
    description:
      'There while the old bytes may still be on disk: as long as a reader or a copy holds those of a file, which are gone within 5 seconds after that, and on a PostgreSQL server until it has vacuumed.',
  }),
);

export const ForgetResponse = Type.Object({
  status: Type.Literal('forgotten'),
  id: MemoryId,
  also_forgotten: Type.Optional(
    Type.Array(MemoryId, {
      description:
        'Hidden duplicates that were merged into this memory, and semantic memories of which it was the last source.',
    }),
  ),
  remaining_duplicates: Type.Optional(
    Type.Array(MemoryId, {
      description:
        'Where this memory was a hidden duplicate: the memories merged with it that still have its text. Forget the visible one to forget all of them.',
    }),
  ),
  purge,
});
export type ForgetResponse = Type.Static<typeof ForgetResponse>;

/** Which memories to forget; all conditions must hold, and at least one must be given. */
export const ForgetManyRequest = Type.Object(
  {
    ...scopeFields,
    session_id: Type.Optional(SessionId),
    tag: Type.Optional(Tag),
    source: Type.Optional(Source),
    metadata: filterFields.metadata,
    before: Type.Optional(requestTime('Memories whose `created_at` is earlier than this.')),
  },
  {
    additionalProperties: false,
    minProperties: 1,
    'x-must': 'hold at least one of user_id, agent_id, session_id, tag, source, metadata.<key>, before',
  },
);
export type ForgetManyRequest = Type.Static<typeof ForgetManyRequest>;

export const ForgetManyResponse = Type.Object({
  status: Type.Literal('forgotten'),
  forgotten_count: Type.Integer({
    minimum: 0,
    description: 'Includes hidden duplicates of forgotten memories and semantic memories that have no source left.',
  }),
  purge,
});
export type ForgetManyResponse = Type.Static<typeof ForgetManyResponse>;
