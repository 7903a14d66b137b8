import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { english } from '../../synonyms/table.ts';
import { queryWords } from '../text/analyze.ts';
import {
  datedAmong,
  dateMatch,
  shareOfDate,
  shareToldAbout,
  speakerTerms,
  synonymsOf,
  weighed,
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
    const dated = datedAmong(queryWords('Ann on 7 May 2023'), date);
    expect([...dated]).toEqual([0, 1, 1]);
    expect(dateMatch(Float64Array.of(0.5, 0.2, 0.3), dated)).toBeCloseTo(WEIGHTS.dated * 0.5);
  });

  it('of a date matches a little where no word that counts names it', () => {
    expect(dateMatch(Float64Array.of(1), datedAmong([['ann']], date))).toBe(0.1);
    expect([...datedAmong([['ann']], undefined)]).toEqual([0]);
  });
});

/** Those of a query in a store where words are in as many memories as given. */
function told(query: string, held: Record<string, number>, memoryCount = 1000) {
  const words = queryWords(query);
  const synonyms = synonymsOf(english, words);
  const documentFrequencies = words.map(([word = '']) => held[word] ?? 0);
  const frequencies = synonyms.map(({ term }) => held[term] ?? 0);
  return weighed(synonyms, frequencies, { memoryCount, documentFrequencies });
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
    expect(weight(50, 5)).toBe(weight(5, 5));
  });

  it('never count for as much as the word itself', () => {
    const counts = fc.array(fc.nat({ max: 5000 }), { minLength: 200, maxLength: 200 });
    fc.assert(
      fc.property(anyWords, counts, counts, fc.nat({ max: 5000 }), (asked, own, held, memoryCount) => {
        const words = queryWords(asked.join(' '));
        const synonyms = synonymsOf(english, words);
        const query = { memoryCount, documentFrequencies: own.slice(0, words.length) };
        for (const { weight } of weighed(synonyms, held.slice(0, synonyms.length), query)) {
          expect(weight).toBeGreaterThanOrEqual(WEIGHTS.synonym.least);
          expect(weight).toBeLessThanOrEqual(WEIGHTS.synonym.most);
        }
      }),
    );
  });

  it('are none of words that the table does not know', () => {
    expect(synonymsOf(english, queryWords('Blakeney 4711 数 xyzzyx'))).toEqual([]);
  });

  it('are bounded, however many words there are', () => {
    const words = english
      .synonymsOf('doctor')
      .flatMap(({ term }) => english.synonymsOf(term).map((near) => [near.term]));
    const synonyms = synonymsOf(english, words);
    expect(synonyms).toHaveLength(512);
    const once = (all: readonly unknown[]) => all.map(() => 1);
    const query = { memoryCount: 1000, documentFrequencies: once(words) };
    expect(weighed(synonyms, once(synonyms), query)).toHaveLength(128);
  });
});
