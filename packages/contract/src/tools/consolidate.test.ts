import { expect, it } from 'vitest';
import { createTimeZone } from '../time-zone.ts';
import { consolidate } from './consolidate.ts';

it.each([
  [1, '1 memory promoted or distilled, 2 merged or evicted.'],
  [3, '3 memories promoted or distilled, 2 merged or evicted.'],
])('memory_consolidate summarizes a run that consolidated %d memories', (consolidated_count, sentence) => {
  const view = { zone: createTimeZone('UTC') };
  expect(consolidate.text({ status: 'consolidated', consolidated_count, evicted_count: 2 }, view, {})).toBe(sentence);
});
