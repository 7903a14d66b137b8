import { MemoryError } from '@memoryd/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { numberCursors, positionCursors, textCursors } from './cursor.ts';

const integer = fc.integer({ min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER });

describe('a cursor', () => {
  it('leads back to its place', () => {
    const positions = positionCursors('a');
    const numbers = numberCursors('a');
    const texts = textCursors('a');
    fc.assert(
      fc.property(integer, integer, fc.string({ unit: 'binary' }), (createdAt, ordinal, text) => {
        expect(positions.read(positions.write({ createdAt, ordinal }))).toEqual({ createdAt, ordinal });
        expect(numbers.read(numbers.write(ordinal))).toBe(ordinal);
        expect(texts.read(texts.write(text))).toBe(text);
      }),
    );
  });

  it.each(['', '.', '5', 'abc', 'a.b', 'a.b.c', '0', '-', 'NaN.NaN', '1.2.3.4', '5.', '.5', 'Infinity', '\ud800'])(
    '%j, which none of them made, is refused',
    (cursor) => {
      for (const cursors of [positionCursors('a'), numberCursors('a'), textCursors('a')]) {
        expect(() => cursors.read(cursor)).toThrow(MemoryError);
      }
    },
  );

  it('of one list is refused by another', () => {
    expect(() => numberCursors('b').read(numberCursors('a').write(7))).toThrow(/next_cursor/);
    expect(() => textCursors('b').read(textCursors('a').write('place'))).toThrow(/next_cursor/);
  });
});
