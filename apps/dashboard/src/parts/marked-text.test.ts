import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { getPieces } from './marked-text.tsx';

const marked = (text: string, words: string[]) =>
  getPieces(text, words)
    .filter(({ isMarked }) => isMarked)
    .map(({ piece }) => piece);

describe('the words of a text that are marked', () => {
  it.each([
    ['every time that they stand there', 'a key, my key', ['key'], ['key', 'key']],
    ['whole, and not as parts of others', 'keys and monkeys', ['key'], []],
    ['as they are written', 'Key or key', ['key'], ['key']],
    ['with the longer one first', 'note and notebook', ['note', 'notebook'], ['note', 'notebook']],
    ['with signs that a pattern would take for its own', 'C++ (not C)', ['C++', '(not'], ['C++', '(not']],
    ['as pairs of letters where no spaces are', '来月の読書会です', ['読書', '書会'], ['読書']],
    ['as whole words of other scripts', 'мир и миры', ['мир'], ['мир']],
  ])('are marked %s', (_, text, words, expected) => expect(marked(text, words)).toEqual(expected));

  it('leave the text what it is, whatever they are', () => {
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
