import { Content, Importance, MemoryId, Metadata, memoryId, SessionId, Source, Tags, timestamp } from './field.ts';
import { DEFAULTS } from './limits.ts';
import { Redacted } from './redacted.ts';
import Type from './typebox.ts';

export const StoreRequest = Type.Object(
  {
    content: Content,
    tags: Type.Optional(Tags),
    importance: Type.Optional(Type.Number({ ...Importance, default: DEFAULTS.importance })),
    source: Type.Optional(Type.String({ ...Source, default: DEFAULTS.source })),
    session_id: Type.Optional(Type.String({ ...SessionId, default: DEFAULTS.sessionId })),
    created_at: Type.Optional(timestamp('When it happened, to fill in history; now where absent.')),
    expires_at: Type.Optional(timestamp('From when on the memory is hidden; never where absent.')),
    metadata: Type.Optional(Metadata),
    supersedes: Type.Optional(memoryId('The memory that this one corrects; recall ranks it below this one.')),
  },
  {
    additionalProperties: false,
    examples: [
      {
        content: 'Mara is allergic to walnuts; hazelnuts are fine.',
        tags: ['health'],
        importance: 0.9,
        session_id: 'dinner-plans',
        metadata: { speaker: 'Mara' },
      },
    ],
  },
);
export type StoreRequest = Type.Static<typeof StoreRequest>;

export const StoreResponse = Type.Object({ id: MemoryId, status: Type.Literal('stored'), redacted: Redacted });
export type StoreResponse = Type.Static<typeof StoreResponse>;
