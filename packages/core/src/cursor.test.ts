import { isDeepStrictEqual } from 'node:util';
import { MemoryError } from '@memoryd/contract';
import type { MemoryFilter } from '@memoryd/search';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { numberCursors, positionCursors, type Selection, textCursors } from './cursor.ts';
import { createSeal } from './system.ts';

const KEY = '000102030405060708090a0b0c0d0e0f';
const seal = createSeal(KEY);
const shuffle = <Item>(items: Item[]) => fc.shuffledSubarray(items, { minLength: items.length });
const integer = fc.integer({ min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER });
const count = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const [positions, numbers, texts] = [positionCursors('a'), numberCursors('a'), textCursors('a')];
const all: Selection = { namespace: 'default' };

interface TestedSelection extends Selection {
  filters: MemoryFilter;
}

describe('a cursor', () => {
  it('decodes to the position that was encoded', () => {
    fc.assert(
      fc.property(integer, count, fc.string({ unit: 'binary' }), (createdAt, ordinal, text) => {
        const position = { createdAt, ordinal };
        expect(positions.read(seal, positions.write(seal, position, all), all)).toEqual(position);
        expect(numbers.read(seal, numbers.write(seal, ordinal, all), all)).toBe(ordinal);
        expect(texts.read(seal, texts.write(seal, text, all), all)).toBe(text);
      }),
    );
  });

  it('a cursor is the same each time it is created for one database, and is refused by another database', () => {
    const cursor = numbers.write(seal, 7, all);
    expect(numbers.write(createSeal(KEY), 7, all)).toBe(cursor);
    expect(() => numbers.read(createSeal('ff'.repeat(16)), cursor, all)).toThrow(/next_cursor/);
  });

  it('a cursor has the same length for every position', () => {
    const lengths = [1, 10, 1e6, Number.MAX_SAFE_INTEGER].map((place) => numbers.write(seal, place, all).length);
    expect(new Set(lengths).size).toBe(1);
  });

  it('a cursor has no common prefix with the cursors of adjacent positions', () => {
    const cursors = Array.from({ length: 500 }, (_, ordinal) =>
      positions.write(seal, { createdAt: 1, ordinal: 1000 + ordinal }, all),
    );
    expect(new Set(cursors.map((cursor) => cursor.length)).size).toBe(1);
    for (let at = 0; at < 28; at++) {
      const signs = new Set(cursors.map((cursor) => cursor[at]));
      expect(signs.size, `sign ${at}`).toBeGreaterThan(3);
    }
  });

  it.each(['', '.', '5', 'abc', 'a.b', '0', '-', 'NaN', 'a'.repeat(22), 'é'.repeat(22), 'a'.repeat(60), '\ud800'])(
    'a cursor is refused if it was not created by the server: %j',
    (cursor) => {
      for (const cursors of [positions, numbers, texts]) {
        expect(() => cursors.read(seal, cursor, all)).toThrow(MemoryError);
      }
    },
  );

  it('a cursor is refused by another list', () => {
    expect(() => numberCursors('b').read(seal, numbers.write(seal, 7, all), all)).toThrow(/next_cursor/);
    expect(() => textCursors('b').read(seal, texts.write(seal, 'place', all), all)).toThrow(/next_cursor/);
  });

  // Few names and values, so that one selection often has a name of the other as its value.
  const word = fc.constantFrom('a', 'b', 'tags', 'source', 'a,b', '["a"]', '"', '__proto__', '7');
  const plain = { noNullPrototype: true };
  const filters: fc.Arbitrary<MemoryFilter> = fc.record(
    {
      source: word,
      sessionId: word,
      tags: fc.array(word, { minLength: 1, maxLength: 3 }),
      userIds: fc.array(fc.oneof(word, fc.constant('')), { minLength: 1, maxLength: 2 }),
      since: fc.nat({ max: 1 }),
      metadata: fc.dictionary(word, word, { ...plain, minKeys: 1, maxKeys: 3 }),
    },
    { ...plain, requiredKeys: [] },
  );
  const selection = fc.record({ namespace: fc.constantFrom('a', 'b'), filters }, plain);
  const swap = (texts: object) => Object.fromEntries(Object.entries(texts).map(([name, value]) => [value, name]));
  /** Swaps the names and values of the metadata, and the values of two fields. */
  const withSwapped = ({ namespace, filters: { source, sessionId, metadata, ...rest } }: TestedSelection) => ({
    namespace,
    filters: {
      ...rest,
      ...(sessionId !== undefined && { source: sessionId }),
      ...(source !== undefined && { sessionId: source }),
      ...(metadata && { metadata: swap(metadata) }),
    },
  });
  const pair = selection.chain((one) => fc.tuple(fc.constant(one), fc.oneof(selection, fc.constant(withSwapped(one)))));
  const withSets = ({ namespace, filters: { tags, userIds, ...rest } }: TestedSelection) => {
    return { namespace, ...rest, tags: new Set(tags), userIds: new Set(userIds) };
  };

  it('a cursor is accepted with another selection only if namespace, names and values are equal', () => {
    fc.assert(
      fc.property(pair, ([one, other]) => {
        const cursor = numbers.write(seal, 7, one);
        const reading = () => numbers.read(seal, cursor, other);
        if (isDeepStrictEqual(withSets(one), withSets(other))) expect(reading()).toBe(7);
        else expect(reading).toThrow(/same filters/);
      }),
      { numRuns: 2000 },
    );
  });

  it('a cursor is accepted if the fields, and the items of a list, come in another order or repeated', () => {
    const shuffled = selection.chain((one) =>
      fc
        .tuple(shuffle(Object.entries(one.filters)), shuffle(Object.entries(one.filters.metadata ?? {})))
        .map(([fields, metadata]) => {
          const filters = Object.fromEntries(fields) as MemoryFilter;
          const { tags } = filters;
          const repeated = tags && { tags: [...tags, ...tags].reverse() };
          const ordered = filters.metadata && { metadata: Object.fromEntries(metadata) };
          return [one, { namespace: one.namespace, filters: { ...filters, ...repeated, ...ordered } }] as const;
        }),
    );
    fc.assert(
      fc.property(shuffled, ([one, other]) => {
        expect(numbers.read(seal, numbers.write(seal, 7, one), other)).toBe(7);
      }),
    );
  });

  it('a cursor is refused if any character is changed', () => {
    const cursor = texts.write(seal, 'a session', all);
    for (let at = 0; at < cursor.length - 1; at++) {
      const changed = cursor.slice(0, at) + (cursor[at] === 'A' ? 'B' : 'A') + cursor.slice(at + 1);
      expect(() => texts.read(seal, changed, all), changed).toThrow(/next_cursor/);
    }
  });
});
