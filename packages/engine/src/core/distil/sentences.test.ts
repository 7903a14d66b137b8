import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findQuotes, MAX_QUOTE_WORDS } from './sentences.ts';

const quoted = (text: string) => findQuotes(text).map((quote) => quote.text);

describe('what can be quoted of a text', () => {
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
  ])('%j comes to %j', (text, quotes) => expect(quoted(text)).toEqual(quotes));

  it('keeps who speaks with what is said', () => {
    const turn = 'Ada: Hi Bo! I moved to Leeds. Come and see me?';
    expect(quoted(`${turn}\nBo: I will.`)).toEqual([turn, 'Bo: I will.']);
  });

  it('ends a turn that is too long for one quote at a sentence, and quotes nothing of it without its speaker', () => {
    const [quote = '', ...others] = quoted(`Ada: ${'I have a cat and a dog. '.repeat(50)}`);
    expect(quote).toMatch(/^Ada: I have .* a dog\.$/);
    expect(quote.length).toBeGreaterThan(MAX_QUOTE_WORDS - 30);
    expect(others).toEqual([]);
  });

  it('cuts a sentence that is too long where it pauses, and never within a number', () => {
    const quotes = quoted(`It costs ${'1,000,000 euros in all, '.repeat(60)}`);
    for (const quote of quotes) expect(quote).toMatch(/^(It costs )?1,000,000 .*(all,)$/);
  });

  it('never cuts within what a reader takes for one character', () => {
    for (const character of ['e\u0301', '👩‍🚀', '👍🏽', 'กำ', '🇧🇬', '🚀']) {
      for (const before of ['', 'a', 'ab', 'abc', 'abcd', 'abcde']) {
        const [quote = ''] = quoted(before + character.repeat(400));
        expect(quote.length).toBeGreaterThan(MAX_QUOTE_WORDS - 10);
        expect(quote.slice(before.length).replaceAll(character, '')).toBe('');
      }
    }
  });

  it('tells questions from what says something', () => {
    const asks = (text: string) => findQuotes(text).map((quote) => quote.asks);
    expect(asks('Is it? It is. 好吗？ "Why?"')).toEqual([true, false, true, true]);
    expect(asks('Ada: Why? How?')).toEqual([true]);
    expect(asks('Ada: I moved. And you?')).toEqual([false]);
  });

  it('quotes a text of line breaks alone as it stands where one of them is no blank', () => {
    expect(quoted(' \u0085\u0085\n')).toEqual(['\u0085\u0085']);
    expect(quoted('Tea.\u0085Milk.')).toEqual(['Tea.', 'Milk.']);
    expect(quoted(' \n\u2028')).toEqual([]);
  });

  it('is a part of the text, in order, of bounded length, without blanks around it, for any text', () => {
    const any = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme', maxLength: 2000 }));
    fc.assert(
      fc.property(any, (text) => {
        let from = 0;
        for (const quote of quoted(text)) {
          const at = text.indexOf(quote, from);
          expect(at).toBeGreaterThanOrEqual(from);
          expect(quote.length).toBeGreaterThan(0);
          expect(quote.length).toBeLessThanOrEqual(MAX_QUOTE_WORDS);
          expect(quote.trim()).toBe(quote);
          from = at + quote.length;
        }
        expect(from > 0).toBe(text.trim() !== '');
      }),
    );
  });
});
