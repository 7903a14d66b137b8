import {
  AgentId,
  Attachment,
  Content,
  ExternalId,
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
import { Similar } from './similar.ts';
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
    external_id: orNull(
      Type.String({
        ...ExternalId,
        description:
          'Your own id of the memory, such as the id of a document or message. If the user and agent have a memory with this id, ' +
          'even an expired, archived or merged one, the given fields change that memory, and absent fields stay as they are.',
      }),
    ),
    created_at: orNull(requestTime('Time of the event, for importing history. Defaults to now.')),
    expires_at: orNull(requestTime('Time at which the memory expires and is hidden. If absent, it never expires.')),
    valid_from: orNull(requestTime('Time from which the memory holds, inclusive. Defaults to `created_at`.')),
    valid_to: orNull(
      requestTime('Time from which the memory no longer holds; later than `valid_from`. If absent, it has no end.'),
    ),
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

export const StoreResponse = Type.Object({
  id: MemoryId,
  status: Type.Literal('stored'),
  created: Type.Optional(
    Type.Boolean({
      description:
        'Whether the memory is new. False if `external_id` is the id of an existing memory. Absent without `external_id`.',
    }),
  ),
  redacted: Redacted,
  similar: Similar,
});
export type StoreResponse = Type.Static<typeof StoreResponse>;
