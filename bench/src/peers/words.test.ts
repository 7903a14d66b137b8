import { describe, expect, it } from 'vitest';
import { getWords } from './words.ts';

describe('getWords', () => {
  it('returns each word once, without search operators', () => {
    expect(getWords('Did "Ann" — or ann-marie* — move in 2024?')).toEqual([
      'did',
      'ann',
      'or',
      'marie',
      'move',
      'in',
      '2024',
    ]);
  });

  it('returns words in any script', () => {
    expect(getWords('Где живёт 安?')).toEqual(['где', 'живёт', '安']);
  });

  it('returns an empty list for punctuation and symbols', () => {
    expect(getWords('?! 🙂')).toEqual([]);
  });
});
