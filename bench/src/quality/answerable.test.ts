import type { RecallResult } from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import { formatScores, getAnswerScores, getAreaUnderCurve, reportScores } from './answerable.ts';

const results = (...scores: [id: string, score: number][]) =>
  scores.map(([id, score]) => ({ id, score }) as RecallResult);
const isRight = (id: string) => id === 'right';

describe('getAnswerScores', () => {
  it('returns the scores of the first result and of the first irrelevant result', () => {
    const asked = getAnswerScores(
      results(['right', 0.8], ['other', 0.3]),
      { only_relevant: results(['right', 0.8]), 'min_score=.2': [] },
      isRight,
    );
    expect(asked).toEqual({
      first: 0.8,
      isFirstRight: true,
      isFound: true,
      withoutRight: 0.3,
      filtered: {
        only_relevant: { isAnswered: true, isRight: true },
        'min_score=.2': { isAnswered: false, isRight: false },
      },
    });
  });

  it('returns scores of 0 without results', () => {
    expect(getAnswerScores([], {}, isRight)).toMatchObject({
      first: 0,
      isFirstRight: false,
      isFound: false,
      withoutRight: 0,
    });
  });

  it('reports a relevant memory as found only among the first five results', () => {
    const five = results(['a', 0.9], ['b', 0.8], ['c', 0.7], ['d', 0.6], ['e', 0.5], ['right', 0.4]);
    expect(getAnswerScores(five, {}, isRight).isFound).toBe(false);
    expect(getAnswerScores(five.slice(1), {}, isRight).isFound).toBe(true);
  });
});

describe('getAreaUnderCurve', () => {
  it('returns the fraction of pairs in which the positive score is higher, and counts a tie as half', () => {
    expect(getAreaUnderCurve([0.5, 0.6], [0.1, 0.4])).toBe(1);
    expect(getAreaUnderCurve([0.5], [0.5])).toBe(0.5);
    expect(getAreaUnderCurve([0.2, 0.6], [0.4, 0.1])).toBe(0.75);
  });
});

describe('the score report', () => {
  const filtered = (isAnswered: boolean, isRight: boolean) => ({
    'min_score=.2': { isAnswered: true, isRight },
    only_relevant: { isAnswered, isRight },
  });
  const report = reportScores({
    own: [
      { first: 0.95, isFirstRight: true, isFound: true, withoutRight: 0.2, filtered: filtered(true, true) },
      { first: 1, isFirstRight: false, isFound: false, withoutRight: 0.4, filtered: filtered(true, false) },
    ],
    ofAnother: [
      { first: 0.1, isFirstRight: false, isFound: false, withoutRight: 0.1, filtered: filtered(false, false) },
    ],
  });

  it('groups first scores into tenths, with the fraction of relevant first results', () => {
    expect(report.calibration.at(-1)).toEqual({ questions: 2, right: 0.5 });
    expect(report.calibration[0]?.questions).toBe(0);
  });

  it('computes the precision over all answered questions, and the recall over questions to their own store', () => {
    expect(report.filters).toEqual({
      'min_score=.2': { precision: 1 / 3, recall: 0.5 },
      only_relevant: { precision: 0.5, recall: 0.5 },
    });
    expect([report.withoutRight, report.ofAnother]).toEqual([1, 1]);
  });

  it('the score report is printed with a dash for an empty score range', () => {
    const text = formatScores('notes', report);
    expect(text).toMatch(/0\.900 to 1\.000\s+2\s+0\.500/);
    expect(text).toMatch(/0\.000 to 0\.100\s+0\s+–/);
  });
});
