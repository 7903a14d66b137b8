import { describe, expect, it } from 'vitest';
import { fold } from './fold.ts';
import { getParts } from './parts.ts';

const getTerms = (word: string) => getParts(fold(word)).flat();

describe('getParts', () => {
  it.each([
    ['הספר', 'ספר'],
    ['ספר', 'והספר'],
    ['ספרים', 'ספר'],
    ['بيروت', 'لبيرو'],
    ['کتاب‌هایم', 'كتاب'],
    ['دوستوں', 'دوست'],
    ['دوست', 'دوستانم'],
    ['কলকাতায়', 'কলকাতা'],
  ])('returns parts of %j that include %j', (word, part) => expect(getTerms(word)).toContain(fold(part)));

  it('returns the Han characters of a pair, without kana', () => {
    expect(getParts('打合')).toEqual([['打'], ['合']]);
    expect(getParts('打ち')).toEqual([['打']]);
  });

  it.each(['hello', 'Straße', '4821', 'привет', 'わせ', '打', '한국', 'สว', 'מה', ''])(
    'returns no parts of %j',
    (word) => expect(getParts(fold(word))).toEqual([]),
  );

  it('returns at most 96 terms of one word', () => {
    expect(getParts(fold('والكتابهایم')).map((terms) => terms.length)).toEqual([96]);
  });

  it('returns no stop words', () => {
    expect(getTerms('علا')).not.toContain('علي');
  });
});
