import { Content, Importance, MemoryId, Metadata, requestTime, Tags } from './field.ts';
import { Redacted } from './redacted.ts';
import { TIME_MUST } from './time.ts';
import Type from './typebox.ts';

/** Fields to change in a memory. Omitted fields stay as they are. */
export const UpdateRequest = Type.Object(
  {
    content: Type.Optional(Content),
    importance: Type.Optional(Importance),
    tags: Type.Optional(Tags),
    metadata: Type.Optional(Metadata),
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

export const UpdateResponse = Type.Object({ id: MemoryId, status: Type.Literal('updated'), redacted: Redacted });
export type UpdateResponse = Type.Static<typeof UpdateResponse>;
