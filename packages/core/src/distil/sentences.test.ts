import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findQuotes, MAX_QUOTE_CHARS } from './sentences.ts';

const quoted = (text: string) => findQuotes(text).map((quote) => quote.text);

describe('findQuotes', () => {
  it.each<[string, string[]]>([
    ['Ada likes tea. Bo does not.', ['Ada likes tea.', 'Bo does not.']],
    ['one\n\n two \r\nthree', ['one', 'two', 'three']],
    ['彼は来た。彼女は来ない。', ['彼は来た。', '彼女は来ない。']],
    ['क्या हाल है? मैं ठीक हूँ।', ['क्या हाल है?', 'मैं ठीक हूँ।']],
    ['It is 3.5 km to v1.2.3 of foo.bar', ['It is 3.5 km to v1.2.3 of foo.bar']],
    ['Dr. Lee met J. K. Doe at 5 p.m. Monday. She left.', ['Dr. Lee met J. K. Doe at 5 p.m. Monday.', 'She left.']],
    ['---\nAda likes tea\n***', ['Ada likes tea']],
    ['?!', ['?!']],
    [' \n', []],
  ])('splits %j into %j', (text, quotes) => expect(quoted(text)).toEqual(quotes));

  it('quotes the speaker together with the turn', () => {
    const turn = 'Ada: Hi Bo! I moved to Leeds. Come and see me?';
    expect(quoted(`${turn}\nBo: I will.`)).toEqual([turn, 'Bo: I will.']);
  });

  it('cuts a long turn at the end of a sentence, and omits the rest, which would have no speaker', () => {
    const [quote = '', ...others] = quoted(`Ada: ${'I have a cat and a dog. '.repeat(50)}`);
    expect(quote).toMatch(/^Ada: I have .* a dog\.$/);
    expect(quote.length).toBeGreaterThan(MAX_QUOTE_CHARS - 30);
    expect(others).toEqual([]);
  });

  it('cuts a long sentence at a comma, never within a number', () => {
    const quotes = quoted(`It costs ${'1,000,000 euros in all, '.repeat(60)}`);
    for (const quote of quotes) expect(quote).toMatch(/^(It costs )?1,000,000 .*(all,)$/);
  });

  it('never cuts within a grapheme', () => {
    for (const character of ['e\u0301', '👩‍🚀', '👍🏽', 'กำ', '🇧🇬', '🚀']) {
      for (const before of ['', 'a', 'ab', 'abc', 'abcd', 'abcde']) {
        const [quote = ''] = quoted(before + character.repeat(400));
        expect(quote.length).toBeGreaterThan(MAX_QUOTE_CHARS - 10);
        expect(quote.slice(before.length).replaceAll(character, '')).toBe('');
      }
    }
  });

  it('distinguishes questions from statements', () => {
    const areQuestions = (text: string) => findQuotes(text).map((quote) => quote.isQuestion);
    expect(areQuestions('Is it? It is. 好吗？ "Why?"')).toEqual([true, false, true, true]);
    expect(areQuestions('Ada: Why? How?')).toEqual([true]);
    expect(areQuestions('Ada: I moved. And you?')).toEqual([false]);
  });

  it('splits a text at U+0085, but quotes U+0085 characters if the text contains nothing else', () => {
    expect(quoted(' \u0085\u0085\n')).toEqual(['\u0085\u0085']);
    expect(quoted('Tea.\u0085Milk.')).toEqual(['Tea.', 'Milk.']);
    expect(quoted(' \n\u2028')).toEqual([]);
  });

  it('returns substrings of any text in order, with limited length and without surrounding white space', () => {
    const any = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme', maxLength: 2000 }));
    fc.assert(
      fc.property(any, (text) => {
        let from = 0;
        for (const quote of quoted(text)) {
          const at = text.indexOf(quote, from);
          expect(at).toBeGreaterThanOrEqual(from);
          expect(quote.length).toBeGreaterThan(0);
          expect(quote.length).toBeLessThanOrEqual(MAX_QUOTE_CHARS);
          expect(quote.trim()).toBe(quote);
          from = at + quote.length;
        }
        expect(from > 0).toBe(text.trim() !== '');
      }),
    );
  });
});
