import { Content, Importance, MemoryId, Metadata, orNull, requestTime, Tags } from './field.ts';
import type { WithoutNulls } from './nulls.ts';
import { Redacted } from './redacted.ts';
import { TIME_MUST } from './time.ts';
import Type from './typebox.ts';

/**
 * Fields to change in a memory. Omitted fields stay as they are. Null means the same as leaving the field out, except in
 * `expires_at`.
 */
export const UpdateRequest = Type.Object(
  {
    content: orNull(Content),
    importance: orNull(Importance),
    tags: orNull(Tags),
    metadata: orNull(Metadata),
    expires_at: Type.Optional(
      Type.Union([requestTime('Time at which the memory expires and is hidden.'), Type.Null()], {
        description: 'Time at which the memory expires and is hidden. Null removes the expiry.',
        'x-must': `be null or ${TIME_MUST.replace(/^be /, '')}`,
      }),
    ),
  },
  {
    additionalProperties: false,
    minProperties: 1,
    examples: [{ content: 'Mara is allergic to walnuts and hazelnuts.' }],
    'x-must': 'contain at least one of content, importance, tags, metadata, expires_at',
  },
);
export type UpdateRequest = Type.Static<typeof UpdateRequest>;

/** An update without its null fields, except the time of expiry, which null clears. */
export type UpdateFields = WithoutNulls<UpdateRequest, 'expires_at'>;

export const UpdateResponse = Type.Object({ id: MemoryId, status: Type.Literal('updated'), redacted: Redacted });
export type UpdateResponse = Type.Static<typeof UpdateResponse>;
