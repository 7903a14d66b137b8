import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromCursor, toCursor } from './cursor.ts';

describe('cursors', () => {
  it('lead back to their position', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e14, max: 1e15 }), fc.integer({ min: 1, max: 1e12 }), (createdAt, ordinal) => {
        expect(fromCursor(toCursor({ createdAt, ordinal }))).toEqual({ createdAt, ordinal });
      }),
    );
  });

  it.each(['', '.', 'a', 'a.b.c', 'A.b', ' a.b', 'a.b ', 'zzzzzzzzzzzzzz.1', '%', 'é.1'])(
    'that were made up are refused: %j',
    (made) => {
      expect(() => fromCursor(made)).toThrow(/cursor must be the next_cursor/);
    },
  );
});
