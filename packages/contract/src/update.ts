import { Content, Importance, MemoryId, Metadata, requestTime, Tags } from './field.ts';
import { Redacted } from './redacted.ts';
import { TIME_MUST } from './time.ts';
import Type from './typebox.ts';

/** What a client changes of a memory; what is left out stays. */
export const UpdateRequest = Type.Object(
  {
    content: Type.Optional(Content),
    importance: Type.Optional(Importance),
    tags: Type.Optional(Tags),
    metadata: Type.Optional(Metadata),
    expires_at: Type.Optional(
      Type.Union([requestTime('When the memory expires and is hidden.'), Type.Null()], {
        description: 'When the memory expires and is hidden; null clears it.',
        'x-must': `be null or ${TIME_MUST.replace(/^be /, '')}`,
      }),
    ),
  },
  {
    additionalProperties: false,
    minProperties: 1,
    examples: [{ content: 'Mara is allergic to walnuts and hazelnuts.' }],
    'x-must': 'hold at least one of content, importance, tags, metadata, expires_at',
  },
);
export type UpdateRequest = Type.Static<typeof UpdateRequest>;

export const UpdateResponse = Type.Object({ id: MemoryId, status: Type.Literal('updated'), redacted: Redacted });
export type UpdateResponse = Type.Static<typeof UpdateResponse>;
