import { expect, it } from 'vitest';
import { getScoreWord } from './score-words.ts';

it.each([
  [1, 'likely'],
  [0.5, 'likely'],
  [0.499, 'possible'],
  [0.25, 'possible'],
  [0.249, 'weak'],
  [0, 'weak'],
] as const)('a recall score of %d is labeled %s', (score, word) => {
  expect(getScoreWord(score)).toBe(word);
});
