import { describe, expect, it } from 'vitest';
import { getWords } from './words.ts';

describe('getWords', () => {
  it('gives each word once, without signs that a search would take for its own', () => {
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

  it('knows words of any script', () => {
    expect(getWords('Где живёт 安?')).toEqual(['где', 'живёт', '安']);
  });

  it('gives nothing of signs alone', () => {
    expect(getWords('?! 🙂')).toEqual([]);
  });
});
