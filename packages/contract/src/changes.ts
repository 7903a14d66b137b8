import { Importance, METADATA_MUST, MemoryId, Tags } from './field.ts';
import { filterFields } from './filter.ts';
import { SELECTION_MUST } from './forget-conditions.ts';
import { LIMITS } from './limits.ts';
import { WordsQuery } from './memories.ts';
import { Redacted } from './redacted.ts';
import { ownScopeFields } from './scope.ts';
import Type from './typebox.ts';

const { shared: _, ...ownFilterFields } = { ...filterFields, ...ownScopeFields };

/** Selects the memories that a change applies to: those that meet all conditions. At least one condition is required. */
export const MemorySelection = Type.Object(
  {
    ...ownFilterFields,
    q: Type.Optional(WordsQuery),
    ids: Type.Optional(
      Type.Array(MemoryId, {
        minItems: 1,
        maxItems: LIMITS.changedIds,
        description: 'Only memories with these ids. Ids of memories that do not exist are ignored.',
        'x-must': `be an array of 1 to ${LIMITS.changedIds} memory ids`,
      }),
    ),
  },
  { additionalProperties: false, 'x-must': SELECTION_MUST },
);
export type MemorySelection = Type.Static<typeof MemorySelection>;

/** The rule for the changes of many memories, as `x-must` of their schema. */
export const CHANGES_MUST = 'contain at least one of add_tags, remove_tags, importance, metadata';

/** The changes to make in each of many memories. */
export const MemoryChanges = Type.Object(
  {
    add_tags: Type.Optional(
      Type.Array(Tags.items, {
        ...Tags,
        minItems: 1,
        description: 'Tags to add. A memory that has them stays unchanged.',
      }),
    ),
    remove_tags: Type.Optional(Type.Array(Tags.items, { ...Tags, minItems: 1, description: 'Tags to remove.' })),
    importance: Type.Optional(Importance),
    metadata: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description:
          'Top-level metadata fields to set; null removes a field. Other fields stay. The metadata of each memory must keep its limits.',
        'x-must': METADATA_MUST,
      }),
    ),
    change_id: Type.Optional(
      Type.String({
        pattern: '^[0-9A-Za-z-]{16,64}$',
        description:
          'An id of your choice for this change. A repeated request with the same id within an hour continues the change if it was interrupted, and changes nothing if it was not. Assigned by default.',
        'x-must': 'be a string of 16 to 64 ASCII letters, digits and hyphens',
      }),
    ),
  },
  {
    additionalProperties: false,
    'x-must': CHANGES_MUST,
  },
);
export type MemoryChanges = Type.Static<typeof MemoryChanges>;

const ChangeId = Type.String({ description: 'The id of the change.', 'x-must': 'be a string, the id of a change' });
export const ChangePath = Type.Object({ id: ChangeId });

export const UpdateManyResponse = Type.Object({
  status: Type.Literal('updated'),
  change_id: Type.String({ ...ChangeId, description: 'Pass this value to `POST /changes/{id}/undo`, for an hour.' }),
  updated_count: Type.Integer({ minimum: 0, description: 'Number of memories that changed.' }),
  unchanged_count: Type.Integer({
    minimum: 0,
    description: 'Number of memories that had these values already.',
  }),
  refused_count: Type.Integer({
    minimum: 0,
    description: 'Number of memories that stay unchanged because they would have too many tags or too much metadata.',
  }),
  redacted: Redacted,
});
export type UpdateManyResponse = Type.Static<typeof UpdateManyResponse>;

export const UndoChangeResponse = Type.Object({
  status: Type.Literal('undone'),
  id: ChangeId,
  restored_count: Type.Integer({ minimum: 0, description: 'Number of memories that have earlier values again.' }),
  kept_count: Type.Integer({
    minimum: 0,
    description:
      'Number of memories that stay as they are, because somebody has changed all these values since, because they would ' +
      'become too large, or because they were forgotten or evicted or have expired.',
  }),
});
export type UndoChangeResponse = Type.Static<typeof UndoChangeResponse>;
