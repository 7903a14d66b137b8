import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { analyze, queryTerms, termFrequencies } from './analyze.ts';

const terms = (text: string) => analyze(text).map((term) => term.text);
const counting = (text: string) =>
  analyze(text)
    .filter((term) => term.counts)
    .map((term) => term.text);

/** Whether a query of `query` finds a memory of `memory`: all it looks for occurs. */
function finds(query: string, memory: string): boolean {
  const { frequencies } = termFrequencies(memory);
  const wanted = queryTerms(query);
  return wanted.length > 0 && wanted.every((term) => frequencies.has(term));
}

describe('words', () => {
  it.each([
    ['CAROLINE', 'Caroline: hello'],
    ['Caroline', "Caroline's guitar"],
    ['Caroline’s', 'Caroline plays'],
    ["don't", 'I don’t know'],
    ['dont', "I don't know"],
    ['I', "I'm here"],
    ['paintings', 'she painted'],
    ['cafe', 'the Café'],
    ['café', 'cafe\u0301'],
    ['Strasse', 'Straße'],
    ['file', 'ﬁle'],
    ['hello', 'ＨＥＬＬＯ'],
    ['Łódź', 'lodz'],
    ['İstanbul', 'istanbul'],
    ['ΣΊΣΥΦΟΣ', 'σίσυφος'],
    ['елка', 'Ёлка'],
    ['שלום', 'שָׁלוֹם'],
    ['محمد', 'مُحَمَّد'],
    ['avion', "l'avion"],
    ['coop', 'co\u00adop'],
  ])('finds %j in %j', (query, memory) => expect(finds(query, memory)).toBe(true));

  it.each([
    ['hi', 'his'],
    ['йод', 'иод'],
    ['한', '하'],
    ['cat', 'concatenate'],
  ])('does not take %j for %j', (query, memory) => expect(finds(query, memory)).toBe(false));

  it('keeps the order of a text', () => {
    expect(terms('Melanie painted a sunrise')).toEqual(['melani', 'paint', 'a', 'sunris']);
  });

  it('stems English words only', () => {
    expect(terms('running бегущий 5s-ing')).toEqual(['run', 'бегущий', '5s', '5', 'ing']);
  });
});

describe('identifiers, numbers and addresses', () => {
  it.each([
    ['foo', 'call fooBar_baz()'],
    ['fooBar', 'call fooBar_baz()'],
    ['foobar', 'call fooBar_baz()'],
    ['baz', 'call fooBar_baz()'],
    ['server', 'class HTTPServer'],
    ['youtube', 'a YouTube video'],
    ['GPUs', 'two gpus'],
    ['name', 'user.name'],
    ['1.2', 'v1.2.3'],
    ['v1.2.3', 'released v1.2.3'],
    ['C++', 'written in C++.'],
    ['C#', 'I prefer C#'],
    ['example.org', 'write to ann@example.org'],
    ['docs', 'https://example.org/docs?page=2#top'],
    ['1000', '1,000 steps'],
    ['1,000,000', '1000000 of them'],
    ['May 8', 'on May 08'],
    ['2023-05', '2023-05-08'],
    ['5 pm', 'at 5pm'],
    ['GPT-4', 'GPT4'],
    ['42', '４２'],
  ])('finds %j in %j', (query, memory) => expect(finds(query, memory)).toBe(true));

  it.each([
    ['C++', 'written in C#'],
    ['100200', '100,2000'],
    ['12', 'half a cup: ½'],
  ])('does not take %j for %j', (query, memory) => expect(finds(query, memory)).toBe(false));

  it('does not take a digest apart', () => {
    expect(terms('3fA85f64Bc')).toEqual(['3fa85f64bc']);
  });
});

describe('scripts without spaces', () => {
  it.each([
    ['猫', '私は猫が好きです'],
    ['東京', '来週東京に行く'],
    ['고양이', '우리 고양이가 잔다'],
    ['한국', '\u1112\u1161\u11ab\u1100\u116e\u11a8'],
    ['ガ', '\uff76\uff9e'],
    ['か\u3099', 'が'],
    ['สวัสดี', 'เขาพูดว่าสวัสดีครับ'],
    ['កម្ពុជា', 'ប្រទេសកម្ពុជា'],
  ])('finds %j in %j', (query, memory) => expect(finds(query, memory)).toBe(true));

  it('asks for pairs of letters where there are some', () => {
    expect(queryTerms('東京都')).toEqual(['東京', '京都']);
    expect(queryTerms('猫')).toEqual(['猫']);
  });

  it('counts a text in pairs, not in pairs and letters', () => {
    expect(termFrequencies('東京都').length).toBe(2);
  });

  it('parts scripts that meet', () => {
    expect(counting('iPhone手机2023年')).toEqual(['iphon', 'phone', '手机', '2023', '年']);
  });
});

describe('symbols', () => {
  it.each([
    ['👍', 'good 👍🏽'],
    ['❤️', 'I ❤ you'],
    ['🚀', 'an astronaut 👩‍🚀'],
    ['🇫🇷', 'from 🇩🇪🇫🇷'],
    ['€', 'it cost 5€'],
    ['1️⃣', 'option 1'],
    ['½', '½ cup'],
  ])('finds %j in %j', (query, memory) => expect(finds(query, memory)).toBe(true));

  it('does not take one flag for another', () => {
    expect(finds('🇷🇩', '🇫🇷🇩🇪')).toBe(false);
  });

  it('takes a drawn line for one symbol', () => {
    expect(terms('──────')).toEqual(['─']);
  });

  it('finds nothing in punctuation', () => {
    expect(queryTerms('?! … ---')).toEqual([]);
  });
});

describe('words that do not count', () => {
  it('leaves them out of a query that says more', () => {
    expect(queryTerms('What did the cat do to my shoes?')).toEqual(['cat', 'my', 'shoe']);
  });

  it('looks for them where a query says nothing else', () => {
    expect(queryTerms('to be or not to be')).toEqual(['to', 'be', 'or', 'not']);
    expect(finds('to be or not to be', 'To be, or not to be, that is the question')).toBe(true);
  });

  it('indexes them without lengthening the memory', () => {
    const { frequencies, length } = termFrequencies('the cat and the dog');
    expect(frequencies.get('the')).toBe(2);
    expect(length).toBe(2);
  });
});

describe('any text', () => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.string());

  it('gives terms of 1 to 130 units', () => {
    fc.assert(
      fc.property(text, (any) => {
        for (const term of terms(any)) {
          expect(term.length).toBeGreaterThan(0);
          expect(term.length).toBeLessThanOrEqual(130);
        }
      }),
    );
  });

  it('means the same in every Unicode normal form', () => {
    const letters = fc.string({ unit: fc.constantFrom(...'aéüñøß όй が한ガ हि שּׁ') });
    fc.assert(
      fc.property(letters, fc.constantFrom('NFC', 'NFD', 'NFKC', 'NFKD'), (any, form) => {
        expect(terms(any.normalize(form))).toEqual(terms(any));
      }),
    );
  });

  it('finds a memory by its own words', () => {
    fc.assert(
      fc.property(text, (any) => {
        fc.pre(queryTerms(any).length > 0);
        expect(finds(any, any)).toBe(true);
      }),
    );
  });

  it('counts as many terms as the text has', () => {
    fc.assert(
      fc.property(text, (any) => {
        const { frequencies, length } = termFrequencies(any);
        expect([...frequencies.values()].reduce((sum, frequency) => sum + frequency, 0)).toBe(terms(any).length);
        expect(length).toBe(counting(any).length);
      }),
    );
  });

  it.each(['a', 'aB', '1,', "n't", '漢', 'か\u3099', '\u0301', 'a\u0301\u0316', 'ﷺ', '😀', '🇫🇷', '\u200d', '\ud800'])(
    'cuts a megabyte of %j into terms of bounded length',
    (unit) => {
      const lengths = [
        ...termFrequencies(unit.repeat(2 ** 20 / new TextEncoder().encode(unit).length)).frequencies.keys(),
      ].map((term) => term.length);
      expect(Math.max(0, ...lengths)).toBeLessThanOrEqual(130);
    },
  );
});
