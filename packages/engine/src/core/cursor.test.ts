import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aesSeal } from '../seal/aes-seal.ts';
import { fromCursor, fromNumberCursor, toCursor, toNumberCursor } from './cursor.ts';

const seal = aesSeal('000102030405060708090a0b0c0d0e0f');

describe('cursors', () => {
  it('lead back to their position', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e14, max: 1e15 }), fc.integer({ min: 1, max: 1e12 }), (createdAt, ordinal) => {
        expect(fromCursor(seal, toCursor(seal, { createdAt, ordinal }))).toEqual({ createdAt, ordinal });
        expect(fromNumberCursor(seal, toNumberCursor(seal, ordinal))).toBe(ordinal);
      }),
    );
  });

  it('are the same for one database, and lead nowhere in another', () => {
    const cursor = toCursor(seal, { createdAt: 1, ordinal: 1 });
    expect(toCursor(aesSeal('000102030405060708090a0b0c0d0e0f'), { createdAt: 1, ordinal: 1 })).toBe(cursor);
    expect(() => fromCursor(aesSeal('ff'.repeat(16)), cursor)).toThrow();
  });

  it('of places that follow each other have nothing in common', () => {
    const cursors = Array.from({ length: 500 }, (_, ordinal) => toCursor(seal, { createdAt: 1, ordinal }));
    expect(new Set(cursors.map((cursor) => cursor.length))).toEqual(new Set([22]));
    for (let at = 0; at < 21; at++) {
      const signs = new Set(cursors.map((cursor) => cursor[at]));
      expect(signs.size, `sign ${at}`).toBeGreaterThan(50);
    }
  });

  it.each(['', '.', 'a', 'a.b', 'a'.repeat(22), 'é'.repeat(22), ` ${'a'.repeat(21)}`])(
    'that were made up are refused: %j',
    (made) => {
      expect(() => fromCursor(seal, made)).toThrow(/cursor must be the next_cursor/);
      expect(() => fromNumberCursor(seal, made)).toThrow(/cursor must be the next_cursor/);
    },
  );

  it('of a list of memories lead nowhere in a list of something else', () => {
    expect(() => fromNumberCursor(seal, toCursor(seal, { createdAt: 5, ordinal: 1 }))).toThrow();
  });
});
