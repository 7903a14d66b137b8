import { describe, expect, it } from 'vitest';
import { queryWords } from '../text/query-words.ts';
import { datedAmong, dateMatch, isOf, isToldAbout } from './dated.ts';
import { WEIGHTS } from './weights.ts';

const at = (text: string) => Date.parse(`${text}T12:00:00Z`);
const date = { from: at('2023-05-07'), until: at('2023-05-08'), text: 'on 7 May 2023' };

describe('a memory', () => {
  it.each([
    ['2023-05-06', false, false],
    ['2023-05-07', true, true],
    ['2023-05-08', false, true],
    ['2023-05-14', false, true],
    ['2023-05-15', false, false],
    ['2024-05-07', false, false],
  ])('that was created on %s is of a date (%j) or may speak of it (%j)', (created, isOfIt, isToldOfIt) => {
    expect(isOf(date, at(created))).toBe(isOfIt);
    expect(isToldAbout(date, at(created))).toBe(isToldOfIt);
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
