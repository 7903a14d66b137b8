import { describe, expect, it } from 'vitest';
import { speakerTerms } from './addressed.ts';

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
