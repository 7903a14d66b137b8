import { Content, Count, Cursor, Limit, MemoryId, NextCursor, requestTime, Timestamp } from './field.ts';
import { scopeFields } from './scope.ts';
import Type from './typebox.ts';

/** Asks for the texts that a memory has had, a page at a time, or for the one that it had at a time. */
export const HistoryRequest = Type.Object(
  {
    ...scopeFields,
    as_of: Type.Optional(requestTime('Return only the text that the memory had at this time.')),
    limit: Type.Optional(Limit),
    cursor: Type.Optional(Cursor),
  },
  { additionalProperties: false },
);
export type HistoryRequest = Type.Static<typeof HistoryRequest>;

/** A text and the time during which the service had it as the memory's. */
export const MemoryText = Type.Object({
  revision: Type.Integer({ minimum: 1, description: 'Grows with every new text of the memory.' }),
  content: Content,
  held_from: Timestamp,
  held_until: Type.Union([Timestamp, Type.Null()], { description: 'Null for the present text.' }),
});
export type MemoryText = Type.Static<typeof MemoryText>;

export const HistoryResponse = Type.Object({
  id: MemoryId,
  texts: Type.Array(MemoryText, { description: 'Oldest first; the last of all is the present one.' }),
  total: Count,
  next_cursor: Type.Optional(NextCursor),
});
export type HistoryResponse = Type.Static<typeof HistoryResponse>;
