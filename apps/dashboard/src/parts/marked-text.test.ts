import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { getPieces } from './marked-text.tsx';

const marked = (text: string, words: string[]) =>
  getPieces(text, words)
    .filter(({ isMarked }) => isMarked)
    .map(({ piece }) => piece);

describe('words to mark in a text', () => {
  it.each([
    ['at every occurrence', 'a key, my key', ['key'], ['key', 'key']],
    ['only as whole words', 'keys and monkeys', ['key'], []],
    ['only in the same case', 'Key or key', ['key'], ['key']],
    ['with longer words first', 'note and notebook', ['note', 'notebook'], ['note', 'notebook']],
    ['with special characters of regular expressions', 'C++ (not C)', ['C++', '(not'], ['C++', '(not']],
    ['as pairs of letters in scripts without spaces', '来月の読書会です', ['読書', '書会'], ['読書']],
    ['as whole words in other scripts', 'мир и миры', ['мир'], ['мир']],
  ])('words to mark in a text are marked %s', (_, text, words, expected) =>
    expect(marked(text, words)).toEqual(expected),
  );

  it('words to mark in a text are marked without changing the text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.array(fc.string({ minLength: 1, unit: 'binary' })),
        (text, words) => {
          const pieces = getPieces(text, words);
          expect(pieces.map(({ piece }) => piece).join('')).toBe(text);
          for (const { piece, at } of pieces) expect(text.slice(at, at + piece.length)).toBe(piece);
        },
      ),
    );
  });
});
