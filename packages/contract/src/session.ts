import {
  Attachment,
  Content,
  Count,
  Cursor,
  ExternalId,
  Importance,
  Limit,
  MemoryId,
  NextCursor,
  SessionId,
  Tags,
  Timestamp,
} from './field.ts';
import { filterFields } from './filter.ts';
import { ownerFields, scopeFields } from './scope.ts';
import Type from './typebox.ts';
import { outdatedFields, revisionField, validityFields } from './validity.ts';

const pageFields = { limit: Type.Optional(Limit), cursor: Type.Optional(Cursor) };

/** Requests the transcript of one session, one page at a time. */
export const SessionRequest = Type.Object(
  {
    session_id: SessionId,
    ...scopeFields,
    filter: filterFields.filter,
    ...validityFields,
    attachments: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Add to each memory its attachment, if it has one.',
        'x-must': 'be true or false',
      }),
    ),
    ...pageFields,
  },
  { additionalProperties: false },
);
export type SessionRequest = Type.Static<typeof SessionRequest>;

export const SessionMemory = Type.Object({
  id: MemoryId,
  content: Content,
  ...revisionField,
  tags: Tags,
  importance: Importance,
  ...ownerFields,
  external_id: Type.Optional(ExternalId),
  created_at: Timestamp,
  ...outdatedFields,
  attachment: Type.Optional(Attachment),
  merged_into: Type.Optional(
    Type.String({ ...MemoryId, description: 'The visible memory that this duplicate was merged into.' }),
  ),
});
export type SessionMemory = Type.Static<typeof SessionMemory>;

export const SessionResponse = Type.Object({
  session_id: SessionId,
  memories: Type.Array(SessionMemory, { description: 'Oldest first.' }),
  total: Type.Integer({ minimum: 0, description: 'Number of memories in the whole session.' }),
  next_cursor: Type.Optional(NextCursor),
});
export type SessionResponse = Type.Static<typeof SessionResponse>;

/** Lists the sessions with memories that match the filter, ordered by session id and user. */
export const SessionsRequest = Type.Object(
  { ...filterFields, ...validityFields, ...pageFields },
  { additionalProperties: false },
);
export type SessionsRequest = Type.Static<typeof SessionsRequest>;

/** Summary of the memories that one user has in a session. `user_id` is absent if the memories belong to no user. */
export const SessionSummary = Type.Object({
  session_id: SessionId,
  user_id: ownerFields.user_id,
  total: Type.Integer({ minimum: 1, description: 'Number of memories in the session that match the filter.' }),
  first_at: Timestamp,
  last_at: Timestamp,
});
export type SessionSummary = Type.Static<typeof SessionSummary>;

export const SessionsResponse = Type.Object({
  sessions: Type.Array(SessionSummary),
  total: Count,
  next_cursor: Type.Optional(NextCursor),
});
export type SessionsResponse = Type.Static<typeof SessionsResponse>;
