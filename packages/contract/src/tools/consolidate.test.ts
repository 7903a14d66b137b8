import { expect, it } from 'vitest';
import { consolidate } from './consolidate.ts';

it.each([
  [1, '1 memory promoted or was distilled, 2 left recall.'],
  [3, '3 memories promoted or were distilled, 2 left recall.'],
])('says what a run did to %d memories in a sentence', (consolidated_count, sentence) => {
  expect(consolidate.text({ status: 'consolidated', consolidated_count, evicted_count: 2 })).toBe(sentence);
});
