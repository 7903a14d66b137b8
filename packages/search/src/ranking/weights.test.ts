import { getScoreWord } from '@memoryd/contract';
import { expect, it } from 'vitest';
import { WEIGHTS } from './weights.ts';

it('getScoreWord returns weak exactly for scores below the threshold of only_relevant', () => {
  expect(getScoreWord(WEIGHTS.relevantScore)).not.toBe('weak');
  expect(getScoreWord(WEIGHTS.relevantScore - Number.EPSILON)).toBe('weak');
});
