import { getScoreWord } from '@memoryd/contract';
import { expect, it } from 'vitest';
import { WEIGHTS } from './weights.ts';

it('only_relevant excludes exactly the results that are labeled weak', () => {
  expect(getScoreWord(WEIGHTS.relevantScore)).not.toBe('weak');
  expect(getScoreWord(WEIGHTS.relevantScore - Number.EPSILON)).toBe('weak');
});
