import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { english } from '../synonyms/table.ts';
import { queryWords } from '../text/analyze.ts';
import {
  getDateMatch,
  getDateMatches,
  getMentionMatch,
  getSpeakerTerms,
  getSynonyms,
  getWordKinds,
  weighed,
  withoutAsides,
} from './query-terms.ts';
import type { QueryPeriod } from './ranking.ts';
import { WEIGHTS } from './weights.ts';

const WORDS = [['you'], ['recommend']];
const NAMES = ['you', 'assist', 'ai'];

describe('getSpeakerTerms for "you"', () => {
  it.each(['What did you recommend?', 'which way YOU recommended', 'Can you tell me what you recommended?'])(
    'includes the assistant for the question "%s"',
    (query) => expect(getSpeakerTerms(query, WORDS)).toEqual([NAMES, ['recommend']]),
  );

  it.each(['Can you recommend one?', 'What would you recommend', 'Could  you recommend youth work?'])(
    'getSpeakerTerms for "you" does not include the assistant for the request "%s"',
    (query) => expect(getSpeakerTerms(query, WORDS)).toEqual(WORDS),
  );

  it.each(['your', 'yours'])('includes the assistant for the word %s', (word) => {
    expect(getSpeakerTerms(`Was that ${word}?`, [[word]])).toEqual([[word, 'assist', 'ai']]);
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

/** Returns the kinds of a query's words. */
function kinds(text: string, options: { date?: QueryPeriod; isForeign?: boolean } = {}) {
  return getWordKinds({ text, words: queryWords(text), isForeign: false, ...options }, english);
}

describe('date matching', () => {
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
  ])(
    'returns for a memory created at %s the date match %s and the mention match %s',
    (created, expectedDate, expectedMention) => {
      expect(getDateMatch(date, at(created))).toBe(expectedDate);
      expect(getMentionMatch(date, at(created))).toBe(expectedMention);
    },
  );

  it('returns a match in proportion to the weights of the query words that name the date', () => {
    const { dated } = kinds('Ann on 7 May 2023', { date });
    expect([...dated]).toEqual([0, 1, 1]);
    const [match] = getDateMatches(date, Float64Array.of(0.5, 0.2, 0.3), dated);
    expect(match?.match).toBeCloseTo(WEIGHTS.dated * 0.5);
  });

  it('returns a small match if no weighted query word names the date', () => {
    expect(getDateMatches(date, Float64Array.of(1), kinds('Ann', { date }).dated)).toMatchObject([{ match: 0.1 }]);
    expect([...kinds('Ann on 7 May 2023').dated]).toEqual([0, 0, 0]);
  });
});

/** Returns the words of a query of a kind, by their first terms. */
function marked(text: string, kind: 'persons' | 'named', isForeign = false) {
  const { [kind]: column } = kinds(text, { isForeign });
  return queryWords(text)
    .filter((_, word) => column[word] === 1)
    .map(([term]) => term);
}

describe('getWordKinds', () => {
  it.each([
    ['Where does my cat sleep?', ['my']],
    ['What does the user eat?', ['user']],
    ['How many users pay?', []],
  ])('returns for "%s" the person words %j', (query, persons) => expect(marked(query, 'persons')).toEqual(persons));

  it.each([
    ['error plt-5120 again', ['plt', '5120']],
    ['When did Mira go to Lisbon? Was it warm?', ['mira', 'lisbon']],
    ['What did I pay? Rent', []],
    ['WHERE IS LISBON', []],
  ])('returns for "%s" the names %j', (query, names) =>
    expect(marked(query, 'named')).toEqual(expect.arrayContaining(names)),
  );

  it('getWordKinds does not treat capitalized words of other languages as names', () => {
    expect(marked('Wo liegt mein Schlüssel zu Haus 7', 'named', true)).toEqual(['7']);
  });

  it('getWordKinds does not treat the words of a date as names', () => {
    expect([...kinds('what Ann did on 7 May 2023', { date }).named].filter((isNamed) => isNamed)).toHaveLength(1);
  });

  it('expects frequent English words in more memories than rare words, and words of other languages in none', () => {
    const [live, doctor, palletly] = kinds('live doctor Palletly').everyday as unknown as number[];
    expect(live).toBeGreaterThan(doctor as number);
    expect(doctor).toBeGreaterThan(0);
    expect(palletly).toBe(0);
    expect([...kinds('live doctor', { isForeign: true }).everyday]).toEqual([0, 0]);
  });
});

describe('withoutAsides', () => {
  it.each([
    ['What does she do for a living?', 'What does she do  ?'],
    ['which doctor should I call?', 'which doctor should I  ?'],
    ['which doctor should I call on Monday', 'which doctor should I call on Monday'],
    ['for a living', 'for a living'],
  ])('shortens %j to %j', (query, rest) => expect(withoutAsides(query)).toBe(rest));
});

/** Returns the weighted synonyms of a query in a store with the given number of memories per word. */
function weigh(query: string, held: Record<string, number>, memoryCount = 1000) {
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
  it('synonyms of a query are returned if memories contain them, with the index of their query word', () => {
    expect(weigh('my doctor', { doctor: 2, physician: 1 })).toEqual([
      { word: 1, term: 'physician', weight: expect.closeTo(0.22, 1) },
    ]);
    expect(weigh('my doctor', { doctor: 2 })).toEqual([]);
  });

  it('synonyms of a query are the same for any inflected form of the query word', () => {
    expect(weigh('Doctors?', { physician: 1 })).toHaveLength(1);
    expect(weigh('Doctors?', { physician: 1 })).toEqual(weigh('doctor', { physician: 1 }));
  });

  it('synonyms of a query have a lower weight if they are less similar to the query word', () => {
    const [physician, medicine] = weigh('doctor', { doctor: 5, physician: 5, medicin: 5 });
    expect([physician?.term, medicine?.term]).toEqual(['physician', 'medicin']);
    expect(physician?.weight).toBeGreaterThan(medicine?.weight as number);
  });

  it('synonyms of a query have a lower weight if they are more frequent than the query word, but no higher weight if they are rarer', () => {
    const weight = (doctor: number, physician: number) => weigh('doctor', { doctor, physician })[0]?.weight;
    expect(weight(5, 50)).toBeLessThan(weight(5, 5) as number);
    expect(weight(5, 500)).toBeLessThan(weight(5, 50) as number);
    expect(weight(500, 5)).toBe(weight(50, 5));
  });

  it('never have the weight of the query word itself', () => {
    const counts = fc.array(fc.nat({ max: 5000 }), { minLength: 200, maxLength: 200 });
    fc.assert(
      fc.property(anyWords, counts, counts, fc.nat({ max: 5000 }), (asked, own, held, memoryCount) => {
        const words = queryWords(asked.join(' '));
        const synonyms = getSynonyms(english, words);
        const { everyday } = kinds(asked.join(' '));
        const query = { memoryCount, documentFrequencies: own.slice(0, words.length), everyday };
        for (const { weight } of weighed(synonyms, held.slice(0, synonyms.length), query)) {
          expect(weight).toBeGreaterThanOrEqual(WEIGHTS.synonym.min);
          expect(weight).toBeLessThanOrEqual(WEIGHTS.synonym.max);
        }
      }),
    );
  });

  it('synonyms of a query are absent for unknown words', () => {
    expect(getSynonyms(english, queryWords('Blakeney 4711 数 xyzzyx'))).toEqual([]);
  });

  it('synonyms of a query are limited in number for any number of query words', () => {
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
