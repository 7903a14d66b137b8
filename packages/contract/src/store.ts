import {
  AgentId,
  Attachment,
  Content,
  Importance,
  MemoryId,
  Metadata,
  memoryId,
  orNull,
  requestTime,
  SessionId,
  Source,
  Tags,
  UserId,
} from './field.ts';
import { DEFAULTS } from './limits.ts';
import type { WithoutNulls } from './nulls.ts';
import { Redacted } from './redacted.ts';
import Type from './typebox.ts';

/** A memory to store. Null in an optional field means the same as leaving the field out. */
export const StoreRequest = Type.Object(
  {
    content: Content,
    tags: orNull(Tags),
    importance: orNull(Type.Number({ ...Importance, default: DEFAULTS.importance })),
    source: orNull(Type.String({ ...Source, default: DEFAULTS.source })),
    session_id: orNull(Type.String({ ...SessionId, default: DEFAULTS.sessionId })),
    user_id: orNull(
      Type.String({
        ...UserId,
        description: 'The user that the memory belongs to. If absent, all users share the memory.',
      }),
    ),
    agent_id: orNull(
      Type.String({
        ...AgentId,
        description: 'The agent that the memory belongs to. If absent, all agents share the memory.',
      }),
    ),
    created_at: orNull(requestTime('Time of the event, for importing history. Defaults to now.')),
    expires_at: orNull(requestTime('Time at which the memory expires and is hidden. If absent, it never expires.')),
    metadata: orNull(Metadata),
    attachment: orNull(Attachment),
    supersedes: orNull(memoryId('The memory that this one replaces. Recall ranks the replaced memory below this one.')),
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

/** A store request without its null fields. */
export type StoreFields = WithoutNulls<StoreRequest>;

export const StoreResponse = Type.Object({ id: MemoryId, status: Type.Literal('stored'), redacted: Redacted });
export type StoreResponse = Type.Static<typeof StoreResponse>;
