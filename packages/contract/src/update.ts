import { Content, Importance, MemoryId, Metadata, orNull, requestTime, Tags } from './field.ts';
import type { WithoutNulls } from './nulls.ts';
import { Redacted } from './redacted.ts';
import { TIME_MUST } from './time.ts';
import Type from './typebox.ts';

function clearableTime(description: string) {
  return Type.Optional(
    Type.Union([requestTime(description), Type.Null()], {
      description,
      'x-must': `be null or ${TIME_MUST.replace(/^be /, '')}`,
    }),
  );
}

/**
 * Fields to change in a memory. Omitted fields stay as they are. Null means the same as leaving the field out, except in
 * times and in `supersedes`, which null clears.
 */
export const UpdateRequest = Type.Object(
  {
    content: orNull(Content),
    importance: orNull(Importance),
    tags: orNull(Tags),
    metadata: orNull(Metadata),
    expires_at: clearableTime('Time at which the memory expires and is hidden. Null removes the expiry.'),
    valid_from: clearableTime('Time from which the memory holds, inclusive. Null stands for `created_at`.'),
    valid_to: clearableTime(
      'Time from which the memory no longer holds; later than `valid_from`. Null removes the end.',
    ),
    supersedes: Type.Optional(
      Type.Union([MemoryId, Type.Null()], {
        description:
          'The memory of the same user and agent that this one replaces, in place of an earlier one. Null removes the link.',
        'x-must': 'be null or the id of a memory',
      }),
    ),
  },
  {
    additionalProperties: false,
    minProperties: 1,
    examples: [{ content: 'Mara is allergic to walnuts and hazelnuts.' }],
    'x-must':
      'contain at least one of content, importance, tags, metadata, expires_at, valid_from, valid_to, supersedes',
  },
);
export type UpdateRequest = Type.Static<typeof UpdateRequest>;

/** An update without its null fields, except the fields that null clears. */
export type UpdateFields = WithoutNulls<UpdateRequest, 'expires_at' | 'valid_from' | 'valid_to' | 'supersedes'>;

export const UpdateResponse = Type.Object({ id: MemoryId, status: Type.Literal('updated'), redacted: Redacted });
export type UpdateResponse = Type.Static<typeof UpdateResponse>;
