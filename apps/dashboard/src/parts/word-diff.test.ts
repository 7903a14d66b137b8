import { describe, expect, it } from 'vitest';
import { diffWords, getSide } from './word-diff.ts';

/** Returns the changes as text: `[-removed-]`, `[+added+]`. */
const show = (before: string, after: string) =>
  diffWords(before, after)
    .map(({ text, state }) => (state === 'same' ? text : state === 'removed' ? `[-${text}-]` : `[+${text}+]`))
    .join('');

describe('diffWords', () => {
  it('marks whole words, and keeps spaces and punctuation', () => {
    expect(show('Dinner is at seven.', 'Dinner is at eight.')).toBe('Dinner is at [-seven-][+eight+].');
    expect(show('Ana’s café', 'Ana’s cafés')).toBe('Ana’s [-café-][+cafés+]');
  });

  it('marks added and removed words at both ends', () => {
    expect(show('the shed', 'the old shed is shut')).toBe('the [+old +]shed[+ is shut+]');
    expect(show('Today the shed is shut', 'the shed')).toBe('[-Today -]the shed[- is shut-]');
  });

  it('returns one piece for equal texts, and none for empty texts', () => {
    expect(diffWords('a b', 'a b')).toEqual([{ text: 'a b', state: 'same' }]);
    expect(diffWords('', '')).toEqual([]);
  });

  it('finds the fewest changes', () => {
    expect(show('a b c d', 'b c a d')).toBe('[-a -]b c[+ a+] d');
  });

  it('both texts can be read from the pieces, also of texts that are too long to compare', () => {
    const text = (word: string) => Array.from({ length: 3000 }, (_, i) => `${word}${i}`).join(' ');
    for (const [before, after] of [
      ['x\n\ny z', 'x y\nq z'],
      [text('a'), text('b')],
    ] as const) {
      const pieces = diffWords(before, after);
      const join = (without: string) => pieces.flatMap(({ text, state }) => (state === without ? [] : text)).join('');
      expect([join('added'), join('removed')]).toEqual([before, after]);
    }
  });
});

describe('getSide', () => {
  it('marks neighboring words of one text as one piece, without the spaces around it', () => {
    const pieces = diffWords('Ada met Tom and felt much better.', 'Aunt Ada met Samir and laughed about it.');
    expect(getSide(pieces, 'before').map(({ text }) => text)).toEqual([
      'Ada met ',
      'Tom',
      ' and ',
      'felt much better',
      '.',
    ]);
    expect(getSide(pieces, 'after')).toEqual([
      { state: 'added', text: 'Aunt' },
      { state: 'same', text: ' Ada met ' },
      { state: 'added', text: 'Samir' },
      { state: 'same', text: ' and ' },
      { state: 'added', text: 'laughed about it' },
      { state: 'same', text: '.' },
    ]);
  });

  it('returns the whole text, also if only its spaces differ', () => {
    const texts = { before: ' a  b\nc ', after: 'a b x c' };
    for (const side of ['before', 'after'] as const) {
      const pieces = getSide(diffWords(texts.before, texts.after), side);
      expect(pieces.map(({ text }) => text).join('')).toBe(texts[side]);
    }
  });
});
