import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { propertyRuns } from '../property-runs.fixture.ts';
import { queryWords, termFrequencies, wordMatcher } from './analyze.ts';
import { fold } from './fold.ts';

/** Returns the distinct terms of a memory in the order of the text. */
const terms = (text: string) => [...termFrequencies(text).frequencies.keys()];
/** Returns the first term of each query word. */
const plain = (query: string) => queryWords(query).map(([term]) => term);

/** Whether every word of a query matches a memory. */
function finds(query: string, memory: string): boolean {
  const { frequencies } = termFrequencies(memory);
  const wanted = queryWords(query);
  return wanted.length > 0 && wanted.every((alternatives) => alternatives.some((term) => frequencies.has(term)));
}

describe('word search', () => {
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
    ['using', 'she used it'],
  ])('finds %j in %j', (query, memory) => expect(finds(query, memory)).toBe(true));

  it.each([
    ['hi', 'his'],
    ['Ines', 'comes in by train'],
    ['use', 'tell us'],
    ['йод', 'иод'],
    ['한', '하'],
    ['cat', 'concatenate'],
    ['10.0.1.25', 'from 10.25.0.1 to 25.0.1.10'],
    ['1.3.2', 'release v1.2.3'],
    ['555-0142', '0142 555'],
  ])('word search does not find %j in %j', (query, memory) => expect(finds(query, memory)).toBe(false));
});

describe('termFrequencies', () => {
  it('returns terms in the order of the text', () => {
    expect(terms('Melanie painted a sunrise')).toEqual(['melani', 'paint', 'a', 'sunris']);
  });

  it('termFrequencies does not stem words with digits', () => {
    expect(terms('running 5s-ing')).toEqual(['run', '5s', '5', 'ing']);
  });
});

describe('search for identifiers, numbers and addresses', () => {
  it.each([
    ['10.0.1.25', 'staging is at 10.0.1.25:5432'],
    ['1.2.3', 'rolled back to v1.2.3.'],
    ['2024-03', 'on 2024-03-12'],
    ['1.2', 'since 1.2.3'],
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
    ['1,000', '۱۰۰۰'],
    ['2.10.4', '๒.๑๐.๔'],
    ['12/8/2569', 'วันที่ ๑๒/๘/๒๕๖๙'],
    ['২২০', 'room 220'],
    ['5 pm', 'at ५pm'],
    ['𞥔𞥒', '42'],
  ])('finds %j in %j', (query, memory) => expect(finds(query, memory)).toBe(true));

  it.each([
    ['C++', 'written in C#'],
    ['100200', '100,2000'],
    ['12', 'half a cup: ½'],
  ])('search for identifiers, numbers and addresses does not find %j in %j', (query, memory) =>
    expect(finds(query, memory)).toBe(false),
  );

  it('search for identifiers, numbers and addresses does not find a version in another script with other numbers', () => {
    expect(finds('2.10.4', '๒.๔.๑๐')).toBe(false);
  });

  it('folds the decimal digits of every script to ASCII digits in their order', () => {
    const digits = Array.from({ length: 0x110000 }, (_, codePoint) => codePoint)
      .filter((codePoint) => codePoint < 0xd800 || codePoint > 0xdfff)
      .map((codePoint) => String.fromCodePoint(codePoint))
      .filter((character) => /\p{Nd}/u.test(character));
    expect(digits.length).toBeGreaterThanOrEqual(650);
    expect(digits.map(fold).join('')).toBe('0123456789'.repeat(digits.length / 10));
  });

  it('treats a digest as one term', () => {
    expect(terms('3fA85f64Bc')).toEqual(['3fa85f64bc']);
  });
});

describe('search in scripts without spaces', () => {
  it.each([
    ['猫', '私は猫が好きです'],
    ['東京', '来週東京に行く'],
    ['고양이', '우리 고양이가 잔다'],
    ['한국', '\u1112\u1161\u11ab\u1100\u116e\u11a8'],
    ['ガ', '\uff76\uff9e'],
    ['か\u3099', 'が'],
    ['สวัสดี', 'เขาพูดว่าสวัสดีครับ'],
    ['កម្ពុជា', 'ប្រទេសកម្ពុជា'],
    ['台北', '我住在臺北'],
    ['電腦', '电脑的密码'],
    ['沢田', '澤田様'],
    ['图书馆', '図書館'],
    ['面', '麵'],
  ])('finds %j in %j', (query, memory) => expect(finds(query, memory)).toBe(true));

  it('splits a query into pairs of letters, and uses a single letter as it is', () => {
    expect(plain('大阪市')).toEqual(['大阪', '阪市']);
    expect(plain('猫')).toEqual(['猫']);
  });

  it('measures the length of a text in pairs of letters', () => {
    expect(termFrequencies('東京都').length).toBe(2);
  });

  it('separates adjacent scripts of a query into different terms', () => {
    expect(plain('iPhone手机2023年')).toEqual(['iphon', 'phone', '手机', '2023', '年']);
  });
});

describe('search for symbols', () => {
  it.each([
    ['👍', 'good 👍🏽'],
    ['❤️', 'I ❤ you'],
    ['🚀', 'an astronaut 👩‍🚀'],
    ['🇫🇷', 'from 🇩🇪🇫🇷'],
    ['€', 'it cost 5€'],
    ['1️⃣', 'option 1'],
    ['½', '½ cup'],
  ])('finds %j in %j', (query, memory) => expect(finds(query, memory)).toBe(true));

  it('search for symbols does not find a flag that consists of the halves of two adjacent flags', () => {
    expect(finds('🇷🇩', '🇫🇷🇩🇪')).toBe(false);
  });

  it('treats a line of one repeated symbol as one term', () => {
    expect(terms('──────')).toEqual(['─']);
  });

  it('search for symbols ignores punctuation', () => {
    expect(plain('?! … ---')).toEqual([]);
  });
});

describe('stop words', () => {
  it('stop words are left out of a query with other words', () => {
    expect(plain('What did the cat do to my shoes?')).toEqual(['cat', 'my', 'shoe']);
  });

  it('stop words are searched for if a query has no other words', () => {
    expect(plain('to be or not to be')).toEqual(['to', 'be', 'or', 'not']);
    expect(finds('to be or not to be', 'To be, or not to be, that is the question')).toBe(true);
  });

  it('stop words are indexed, but are not included in the length of the memory', () => {
    const { frequencies, length } = termFrequencies('the cat and the dog');
    expect(frequencies.get('the')).toBe(2);
    expect(length).toBe(2);
  });
});

describe('the first words of a text', () => {
  const word = (n: number) => `${String.fromCharCode(97 + (n % 26))}um${n < 26 ? 'ba' : 'bo'}`;
  const text = (opening: string, words: number) =>
    [opening, ...Array.from({ length: words }, (_, n) => word(n)), 'ferry'].join(' ');

  it('the first words of a text are weighted as one additional occurrence, which does not change the length of the text', () => {
    const { frequencies, length } = termFrequencies(text('lighthouse', 40));
    expect(frequencies.get('lighthous')).toBe(2);
    expect(frequencies.get('ferri')).toBe(1);
    expect(length).toBe(42);
    expect(termFrequencies(text('lighthouse lighthouse', 40)).frequencies.get('lighthous')).toBe(3);
  });

  it('the first words of a text have no additional occurrence in a text of fewer than 30 words', () => {
    const opening = (words: number) => termFrequencies(text('lighthouse', words - 2)).frequencies.get('lighthous');
    expect([opening(20), opening(29), opening(30)]).toEqual([1, 1, 2]);
  });

  it('the first words of a text have one additional occurrence of their stems in other languages', () => {
    const german =
      'Die Leuchttürme stehen an der Küste und werden von den Wärtern bewacht, die dort seit Jahren wohnen. ';
    const { frequencies } = termFrequencies(german.repeat(6));
    const [stem = ''] = queryWords('die Leuchttürme an der Küste')[0]?.filter((term) => frequencies.has(term)) ?? [];
    expect(frequencies.get(stem)).toBe(7);
  });
});

describe('search in several languages', () => {
  it.each([
    ['Katze', 'Ich habe zwei Katzen'],
    ['Katzen', 'Meine Katze schläft'],
    ['Madchen', 'Die Mädchen haben gewonnen'],
    ['Strassen', 'Die Straße ist gesperrt'],
    ['cheval', 'Les chevaux sont dans le pré'],
    ['ecoles', "L'école est fermée"],
    ['canciones', 'Me gusta esta canción'],
    ['gatto', 'Ho due gatti'],
    ['cão', 'Os cães do vizinho'],
    ['boeken', 'Het boek ligt op tafel'],
    ['flickan', 'Flickor som spelar och sjunger'],
    ['husene', 'Vi har et hus ved vandet'],
    ['talossa', 'Minun taloni on punainen'],
    ['házak', 'Ez a ház nem régi'],
    ['pisicilor', 'Avem o pisică și un câine'],
    ['orase', 'Aceste orașe sunt mari'],
    ['kitaplar', 'Bu kitap çok güzel'],
    ['KITAPLAR', 'Bu kitap çok güzel'],
    ['собаку', 'Собаки лают'],
    ['елки', 'ёлка стоит'],
    ['δρόμους', 'Ο δρόμος είναι κλειστός'],
    ['ΔΡΟΜΟΣ', 'τους δρόμους'],
    ['الكتاب', 'كتاب جديد'],
    ['مدرسه', 'في المدرسة'],
    ['बिल्ली', 'दो बिल्लियाँ'],
    ['ज़रूर', 'जरूर आना'],
    ['हां', 'हाँ, ठीक'],
    ['enak makanannya tidak', 'makanan ini enak sekali dan tidak mahal'],
    ['namo', 'kur yra mano namas'],
    ['an bád', 'bhí mé ar an mbád agus níl mé anois'],
    ['வீடுகள்', 'பெரிய வீடு'],
  ])('finds %j in %j', (query, memory) => expect(finds(query, memory)).toBe(true));

  it('ignores the stop words of the language of the query', () => {
    expect(plain('Wo wohnen die Eltern von Jonas?')).toEqual(['wohnen', 'eltern', 'jona']);
    expect(plain('Où est la voiture de Paul ?')).toEqual(['voitur', 'paul']);
    expect(plain('Где моя машина?')).toEqual(['машин']);
  });

  it('uses only English stems for an English query', () => {
    expect(queryWords('Where did she buy the paintings?')).toEqual([['bui'], ['paint']]);
  });

  it('excludes the stop words of the language of a text from its length', () => {
    expect(termFrequencies('Die Katze schläft auf dem Sofa').length).toBe(3);
  });

  it('finds names and loanwords in texts of another language', () => {
    expect(finds('What is Maria doing with the Python?', 'María prefiere no usar Python en los servidores')).toBe(true);
    expect(finds('¿Dónde está Kubernetes, y quién es María?', 'Maria will use Kubernetes in Leeds')).toBe(true);
  });

  it.each([
    'Gina: Man, die hard fans want more!',
    'Take care!',
    'See ya, Hans!',
    'Go get em',
    'Per person or plus tax?',
    'Um',
    'I met Dan in a bar on the way to the Van Gogh museum.',
    'We had crème brûlée at the café',
  ])('recognizes %j as English', (text) => {
    expect(terms(text).filter((term) => term.startsWith('~'))).toEqual([]);
  });

  it('search in several languages does not apply the stemming of another language to identifiers and numbers', () => {
    const found = terms('Die Funktion fooBar2000 liegt in der Datei main_test.py und kostet 42 Euro');
    expect(found).toEqual(expect.arrayContaining(['foobar2000', 'main', 'test', 'py', '42']));
    expect(found.some((term) => /^~.*\d/.test(term))).toBe(false);
  });
});

describe('analysis of any text', () => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.string());

  const sentences = fc
    .array(
      fc.constantFrom(...'das Mädchen kitaplar evde la niña häuser über talossa ქართული école и собаки'.split(' ')),
    )
    .map((words) => words.join(' '));

  it('returns terms of 1 to 130 UTF-16 units', () => {
    fc.assert(
      fc.property(text, (any) => {
        for (const term of terms(any)) {
          expect(term.length).toBeGreaterThan(0);
          expect(term.length).toBeLessThanOrEqual(130);
        }
      }),
    );
  });

  it('returns the same terms for every Unicode normal form', () => {
    const letters = fc.string({ unit: fc.constantFrom(...'aéüñøß όй が한ガ हि שּׁ') });
    fc.assert(
      fc.property(letters, fc.constantFrom('NFC', 'NFD', 'NFKC', 'NFKD'), (any, form) => {
        expect(terms(any.normalize(form))).toEqual(terms(any));
      }),
    );
  });

  it('lets the text match a query with the same text', () => {
    fc.assert(
      fc.property(text, (any) => {
        fc.pre(queryWords(any).length > 0);
        expect(finds(any, any)).toBe(true);
      }),
    );
  });

  it('returns a length of at most the number of term occurrences', () => {
    fc.assert(
      fc.property(text, (any) => {
        const { frequencies, length } = termFrequencies(any);
        const occurrences = [...frequencies.values()].reduce((sum, frequency) => sum + frequency, 0);
        expect(length).toBeGreaterThanOrEqual(0);
        expect(length).toBeLessThanOrEqual(occurrences);
      }),
    );
  });

  it('returns query words of one to four terms, and each term in one word only', () => {
    fc.assert(
      fc.property(fc.oneof(text, sentences), (any) => {
        const words = queryWords(any);
        for (const alternatives of words) {
          expect(alternatives.length).toBeGreaterThan(0);
          expect(alternatives.length).toBeLessThanOrEqual(4);
        }
        expect(new Set(words.flat()).size).toBe(words.flat().length);
      }),
    );
  });

  it('lets the text match a query for any of its words', () => {
    fc.assert(
      fc.property(sentences, (sentence) => {
        for (const word of sentence.split(' ')) {
          const wanted = queryWords(word);
          const { frequencies } = termFrequencies(sentence);
          expect(wanted.every((alternatives) => alternatives.some((term) => frequencies.has(term)))).toBe(true);
        }
      }),
    );
  });

  it.each(['a', 'aB', '1,', "n't", '漢', 'か\u3099', '\u0301', 'a\u0301\u0316', 'ﷺ', '😀', '🇫🇷', '\u200d', '\ud800'])(
    'returns terms of limited length for a text that repeats only %j',
    (unit) => {
      const text = unit.repeat(propertyRuns(2 ** 20) / new TextEncoder().encode(unit).length);
      const lengths = [...termFrequencies(text).frequencies.keys()].map((term) => term.length);
      expect(Math.max(0, ...lengths)).toBeLessThanOrEqual(130);
    },
  );
});

const matched = (query: string, text: string) => wordMatcher(query, 1000)(text);

describe('the matched words of a text', () => {
  it.each([
    ['are returned as written in the text', 'PEANUTS', 'No peanuts; Peanuts are out.', ['peanuts', 'Peanuts']],
    ['include other forms of a word', 'who was running', 'He runs, and ran; running helps.', ['runs', 'running']],
    ['include clitics', 'caroline', 'It is Caroline’s.', ['Caroline’s']],
    ['exclude stop words', 'what is the key', 'The key is what it is.', ['key']],
    ['match without accents', 'velo', 'Le vélo de Camille', ['vélo']],
    [
      'include inflected forms in the language of the text',
      'mit den Kindern',
      'Die Kinder sind nicht da, sie spielen mit dem Ball.',
      ['Kinder'],
    ],
    ['are pairs of letters in scripts without spaces', '読書会', '来月の読書会です', ['読書', '書会']],
    ['include numbers with digit grouping', '1200', 'It costs 1,200 euros', ['1,200']],
    ['are whole compounds if a part matches', 'timeout', 'the readTimeout of C++', ['readTimeout']],
    ['are empty without a match', 'zebra', 'a horse', []],
  ])('the matched words of a text %s', (_, query, text, expected) => {
    expect(matched(query, text).toSorted()).toEqual(expected.toSorted());
  });

  it('the matched words of a text are searched for only in the first maxUnits of all texts together', () => {
    const match = wordMatcher('key', 10);
    expect(match('a key')).toEqual(['key']);
    expect(match('12345key')).toEqual([]);
    expect(match('key')).toEqual([]);
  });
});
