import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AskedDate } from '../../ports/ranking.ts';
import { english } from '../../synonyms/table.ts';
import { queryWords } from '../text/analyze.ts';
import {
  dateMatch,
  getSynonyms,
  getWordKinds,
  shareOfDate,
  shareToldAbout,
  speakerTerms,
  weighed,
  withoutAsides,
} from './query-terms.ts';
import { WEIGHTS } from './weights.ts';

const WORDS = [['you'], ['recommend']];
const NAMES = ['you', 'assist', 'ai'];

describe('by "you" a query names', () => {
  it.each(['What did you recommend?', 'which way YOU recommended', 'Can you tell me what you recommended?'])(
    'an assistant: %s',
    (query) => expect(speakerTerms(query, WORDS)).toEqual([NAMES, ['recommend']]),
  );

  it.each(['Can you recommend one?', 'What would you recommend', 'Could  you recommend youth work?'])(
    'nobody who spoke before: %s',
    (query) => expect(speakerTerms(query, WORDS)).toEqual(WORDS),
  );

  it.each(['your', 'yours'])('an assistant by %s', (word) => {
    expect(speakerTerms(`Was that ${word}?`, [[word]])).toEqual([[word, 'assist', 'ai']]);
  });
});

const at = (text: string) => Date.parse(`${text}:00:00Z`);
const date = {
  from: at('2023-05-07T00'),
  until: at('2023-05-08T00'),
  earliest: at('2023-05-06T10'),
  latest: at('2023-05-08T12'),
  text: 'on 7 May 2023',
};

/** The kinds of a query's words. */
function kinds(text: string, options: { date?: AskedDate; isForeign?: boolean } = {}) {
  return getWordKinds({ text, words: queryWords(text), isForeign: false, ...options }, english);
}

describe('a memory', () => {
  it.each([
    ['2023-05-06T09', 0, 0],
    ['2023-05-06T10', 0.5, 0.5],
    ['2023-05-07T00', 1, 1],
    ['2023-05-07T23', 1, 1],
    ['2023-05-08T00', 0.5, 1],
    ['2023-05-08T12', 0, 1],
    ['2023-05-15T11', 0, 1],
    ['2023-05-15T12', 0, 0],
    ['2024-05-07T12', 0, 0],
  ])('that was created at %s is of a day by %s, and may speak of it by %s', (created, ofIt, toldOfIt) => {
    expect(shareOfDate(date, at(created))).toBe(ofIt);
    expect(shareToldAbout(date, at(created))).toBe(toldOfIt);
  });

  it('of a date matches as the words do that name it, or nearly', () => {
    const { dated } = kinds('Ann on 7 May 2023', { date });
    expect([...dated]).toEqual([0, 1, 1]);
    expect(dateMatch(Float64Array.of(0.5, 0.2, 0.3), dated)).toBeCloseTo(WEIGHTS.dated * 0.5);
  });

  it('of a date matches a little where no word that counts names it', () => {
    expect(dateMatch(Float64Array.of(1), kinds('Ann', { date }).dated)).toBe(0.1);
    expect([...kinds('Ann on 7 May 2023').dated]).toEqual([0, 0, 0]);
  });
});

/** The words of a query that are of a kind, by their first terms. */
function marked(text: string, kind: 'persons' | 'named', isForeign = false) {
  const { [kind]: column } = kinds(text, { isForeign });
  return queryWords(text)
    .filter((_, word) => column[word] === 1)
    .map(([term]) => term);
}

describe('of the words of a query', () => {
  it.each([
    ['Where does my cat sleep?', ['my']],
    ['What does the user eat?', ['user']],
    ['How many users pay?', []],
  ])('%s names persons by %j', (query, persons) => expect(marked(query, 'persons')).toEqual(persons));

  it.each([
    ['error plt-5120 again', ['plt', '5120']],
    ['When did Mira go to Lisbon? Was it warm?', ['mira', 'lisbon']],
    ['What did I pay? Rent', []],
    ['WHERE IS LISBON', []],
  ])('%s has the names %j', (query, names) => expect(marked(query, 'named')).toEqual(expect.arrayContaining(names)));

  it('none is a name for its capital in other languages, whose nouns have them too', () => {
    expect(marked('Wo liegt mein Schlüssel zu Haus 7', 'named', true)).toEqual(['7']);
  });

  it('no word of the date that is asked about is a name', () => {
    expect([...kinds('what Ann did on 7 May 2023', { date }).named].filter((isNamed) => isNamed)).toHaveLength(1);
  });

  it('the commoner ones of English are expected in more notes, and those of other languages in none that is known', () => {
    const [live, doctor, palletly] = kinds('live doctor Palletly').everyday as unknown as number[];
    expect(live).toBeGreaterThan(doctor as number);
    expect(doctor).toBeGreaterThan(0);
    expect(palletly).toBe(0);
    expect([...kinds('live doctor', { isForeign: true }).everyday]).toEqual([0, 0]);
  });
});

describe('without asides', () => {
  it.each([
    ['What does she do for a living?', 'What does she do  ?'],
    ['which doctor should I call?', 'which doctor should I  ?'],
    ['which doctor should I call on Monday', 'which doctor should I call on Monday'],
    ['for a living', 'for a living'],
  ])('%j asks %j', (query, rest) => expect(withoutAsides(query)).toBe(rest));
});

/** Those of a query in a store where words are in as many memories as given. */
function told(query: string, held: Record<string, number>, memoryCount = 1000) {
  const words = queryWords(query);
  const synonyms = getSynonyms(english, words);
  const documentFrequencies = words.map(([word = '']) => held[word] ?? 0);
  const frequencies = synonyms.map(({ term }) => held[term] ?? 0);
  const everyday = new Float64Array(words.length);
  return weighed(synonyms, frequencies, { memoryCount, documentFrequencies, everyday });
}

const VOCABULARY = [
  'doctor',
  'guitar',
  'holiday',
  'kitchen',
  'paint',
  'budget',
  'swim',
  'lawyer',
  'children',
  'dinner',
];
const anyWords = fc.array(fc.constantFrom(...VOCABULARY), { minLength: 1, maxLength: 8 });

describe('synonyms of a query', () => {
  it('are those that memories hold, by the word that they stand for', () => {
    expect(told('my doctor', { doctor: 2, physician: 1 })).toEqual([
      { word: 1, term: 'physician', weight: expect.closeTo(0.22, 1) },
    ]);
    expect(told('my doctor', { doctor: 2 })).toEqual([]);
  });

  it('stand for words in any inflexion', () => {
    expect(told('Doctors?', { physician: 1 })).toHaveLength(1);
    expect(told('Doctors?', { physician: 1 })).toEqual(told('doctor', { physician: 1 }));
  });

  it('count less the further they are from the word', () => {
    const [physician, medicine] = told('doctor', { doctor: 5, physician: 5, medicin: 5 });
    expect([physician?.term, medicine?.term]).toEqual(['physician', 'medicin']);
    expect(physician?.weight).toBeGreaterThan(medicine?.weight as number);
  });

  it('count less the commoner they are than the word, and no more where they are rarer', () => {
    const weight = (doctor: number, physician: number) => told('doctor', { doctor, physician })[0]?.weight;
    expect(weight(5, 50)).toBeLessThan(weight(5, 5) as number);
    expect(weight(5, 500)).toBeLessThan(weight(5, 50) as number);
    expect(weight(500, 5)).toBe(weight(50, 5));
  });

  it('never count for as much as the word itself', () => {
    const counts = fc.array(fc.nat({ max: 5000 }), { minLength: 200, maxLength: 200 });
    fc.assert(
      fc.property(anyWords, counts, counts, fc.nat({ max: 5000 }), (asked, own, held, memoryCount) => {
        const words = queryWords(asked.join(' '));
        const synonyms = getSynonyms(english, words);
        const { everyday } = kinds(asked.join(' '));
        const query = { memoryCount, documentFrequencies: own.slice(0, words.length), everyday };
        for (const { weight } of weighed(synonyms, held.slice(0, synonyms.length), query)) {
          expect(weight).toBeGreaterThanOrEqual(WEIGHTS.synonym.least);
          expect(weight).toBeLessThanOrEqual(WEIGHTS.synonym.most);
        }
      }),
    );
  });

  it('are none of words that the table does not know', () => {
    expect(getSynonyms(english, queryWords('Blakeney 4711 数 xyzzyx'))).toEqual([]);
  });

  it('are bounded, however many words there are', () => {
    const words = english
      .getSynonyms('doctor')
      .flatMap(({ term }) => english.getSynonyms(term).map((near) => [near.term]));
    const synonyms = getSynonyms(english, words);
    expect(synonyms).toHaveLength(512);
    const once = (all: readonly unknown[]) => all.map(() => 1);
    const everyday = new Float64Array(words.length);
    const query = { memoryCount: 1000, documentFrequencies: once(words), everyday };
    expect(weighed(synonyms, once(synonyms), query)).toHaveLength(128);
  });
});
