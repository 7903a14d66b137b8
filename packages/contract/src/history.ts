import { Content, Count, Cursor, Limit, MemoryId, NextCursor, requestTime, Timestamp } from './field.ts';
import { scopeFields } from './scope.ts';
import Type from './typebox.ts';

/** Requests the text history of a memory, one page at a time, or the text at one time. */
export const HistoryRequest = Type.Object(
  {
    ...scopeFields,
    known_at: Type.Optional(requestTime('Return only the text that the memory had at this time.')),
    limit: Type.Optional(Limit),
    cursor: Type.Optional(Cursor),
  },
  { additionalProperties: false },
);
export type HistoryRequest = Type.Static<typeof HistoryRequest>;

/** A text of a memory and the period in which it was the current text. */
export const MemoryText = Type.Object({
  revision: Type.Integer({ minimum: 1, description: 'Increases with every new text of the memory.' }),
  content: Content,
  held_from: Timestamp,
  held_until: Type.Union([Timestamp, Type.Null()], { description: 'Null for the current text.' }),
});
export type MemoryText = Type.Static<typeof MemoryText>;

export const HistoryResponse = Type.Object({
  id: MemoryId,
  texts: Type.Array(MemoryText, { description: 'Oldest first. The last text of the last page is the current one.' }),
  total: Count,
  next_cursor: Type.Optional(NextCursor),
});
export type HistoryResponse = Type.Static<typeof HistoryResponse>;
