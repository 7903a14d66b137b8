import { MemoryError } from '@memoryd/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSeal } from '../system.ts';
import { numberCursors, positionCursors, textCursors } from './cursor.ts';

const KEY = '000102030405060708090a0b0c0d0e0f';
const seal = createSeal(KEY);
const integer = fc.integer({ min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER });
const count = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const [positions, numbers, texts] = [positionCursors('a'), numberCursors('a'), textCursors('a')];

describe('a cursor', () => {
  it('decodes to the position that was encoded', () => {
    fc.assert(
      fc.property(integer, count, fc.string({ unit: 'binary' }), (createdAt, ordinal, text) => {
        const position = { createdAt, ordinal };
        expect(positions.read(seal, positions.write(seal, position, ''), '')).toEqual(position);
        expect(numbers.read(seal, numbers.write(seal, ordinal, ''), '')).toBe(ordinal);
        expect(texts.read(seal, texts.write(seal, text, ''), '')).toBe(text);
      }),
    );
  });

  it('is the same each time it is created for one database, and is refused by another database', () => {
    const cursor = numbers.write(seal, 7, '');
    expect(numbers.write(createSeal(KEY), 7, '')).toBe(cursor);
    expect(() => numbers.read(createSeal('ff'.repeat(16)), cursor, '')).toThrow(/next_cursor/);
  });

  it('has the same length for every position', () => {
    const lengths = [1, 10, 1e6, Number.MAX_SAFE_INTEGER].map((place) => numbers.write(seal, place, '').length);
    expect(new Set(lengths).size).toBe(1);
  });

  it('has no common prefix with the cursors of adjacent positions', () => {
    const cursors = Array.from({ length: 500 }, (_, ordinal) =>
      positions.write(seal, { createdAt: 1, ordinal: 1000 + ordinal }, ''),
    );
    expect(new Set(cursors.map((cursor) => cursor.length)).size).toBe(1);
    for (let at = 0; at < 28; at++) {
      const signs = new Set(cursors.map((cursor) => cursor[at]));
      expect(signs.size, `sign ${at}`).toBeGreaterThan(3);
    }
  });

  it.each(['', '.', '5', 'abc', 'a.b', '0', '-', 'NaN', 'a'.repeat(22), 'é'.repeat(22), 'a'.repeat(60), '\ud800'])(
    'is refused if it was not created by the server: %j',
    (cursor) => {
      for (const cursors of [positions, numbers, texts]) {
        expect(() => cursors.read(seal, cursor, '')).toThrow(MemoryError);
      }
    },
  );

  it('is refused by another list', () => {
    expect(() => numberCursors('b').read(seal, numbers.write(seal, 7, ''), '')).toThrow(/next_cursor/);
    expect(() => textCursors('b').read(seal, texts.write(seal, 'place', ''), '')).toThrow(/next_cursor/);
  });

  it('is refused with different filters', () => {
    const cursor = positions.write(seal, { createdAt: 1, ordinal: 2 }, '{"tag":["a"]}');
    expect(() => positions.read(seal, cursor, '{"tag":["b"]}')).toThrow(/same filters/);
  });

  it('is refused if any character is changed', () => {
    const cursor = texts.write(seal, 'a session', '');
    for (let at = 0; at < cursor.length - 1; at++) {
      const changed = cursor.slice(0, at) + (cursor[at] === 'A' ? 'B' : 'A') + cursor.slice(at + 1);
      expect(() => texts.read(seal, changed, ''), changed).toThrow(/next_cursor/);
    }
  });
});
