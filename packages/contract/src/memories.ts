import { Cursor, Limit, NextCursor } from './field.ts';
import { filterFields } from './filter.ts';
import { Memory } from './memory.ts';
import Type from './typebox.ts';

/** Asks for the memories that pass the filter, newest first, a page at a time. */
export const MemoriesRequest = Type.Object(
  { ...filterFields, limit: Type.Optional(Limit), cursor: Type.Optional(Cursor) },
  { additionalProperties: false },
);
export type MemoriesRequest = Type.Static<typeof MemoriesRequest>;

export const MemoriesResponse = Type.Object({
  memories: Type.Array(Memory, { description: 'Newest first.' }),
  total: Type.Integer({ minimum: 0, description: 'Memories that pass the filter.' }),
  next_cursor: Type.Optional(NextCursor),
});
export type MemoriesResponse = Type.Static<typeof MemoriesResponse>;
