import Type from 'typebox';
import { Content, Importance, MemoryId, Metadata, SessionId, Source, Tags, Timestamp } from './field.ts';

export const StoreRequest = Type.Object(
  {
    content: Content,
    tags: Type.Optional(Tags),
    importance: Type.Optional(Importance),
    source: Type.Optional(Source),
    session_id: Type.Optional(SessionId),
    created_at: Type.Optional(Timestamp),
    expires_at: Type.Optional(Timestamp),
    metadata: Type.Optional(Metadata),
    supersedes: Type.Optional(MemoryId),
  },
  { additionalProperties: false },
);
export type StoreRequest = Type.Static<typeof StoreRequest>;

export const StoreResponse = Type.Object({ id: MemoryId, status: Type.Literal('stored') });
export type StoreResponse = Type.Static<typeof StoreResponse>;
