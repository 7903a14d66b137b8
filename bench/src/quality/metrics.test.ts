import { describe, expect, it } from 'vitest';
import { meanScores, scoreRanking } from './metrics.ts';

describe('scoreRanking', () => {
  it('scores two of three relevant memories at ranks 2 and 7', () => {
    const scores = scoreRanking(['x', 'a', 'y', 'z', 'u', 'v', 'b', 'w'], new Set(['a', 'b', 'c']));
    expect(scores['r@1']).toBe(0);
    expect(scores['r@5']).toBeCloseTo(1 / 3, 12);
    expect(scores['r@10']).toBeCloseTo(2 / 3, 12);
    expect(scores['any@5']).toBe(1);
    expect(scores['all@5']).toBe(0);
    // 1/log2(3) + 1/log2(8) = .630930 + .333333 over 1 + .630930 + .5 = 2.130930
    expect(scores['nDCG@10']).toBeCloseTo(0.452508, 6);
    expect(scores.MRR).toBe(0.5);
  });

  it('returns the highest scores for the best order', () => {
    const scores = scoreRanking(['a', 'b', 'x', 'y'], new Set(['b', 'a']));
    expect(scores).toEqual({ 'r@1': 0.5, 'r@5': 1, 'r@10': 1, 'any@5': 1, 'all@5': 1, 'nDCG@10': 1, MRR: 1 });
  });

  it('returns 0 if no result is relevant', () => {
    const scores = scoreRanking([], new Set(['a']));
    expect(scores).toEqual({ 'r@1': 0, 'r@5': 0, 'r@10': 0, 'any@5': 0, 'all@5': 0, 'nDCG@10': 0, MRR: 0 });
  });

  it('returns an nDCG@10 of 1 if more than ten memories are relevant and ten of them come first', () => {
    const contents = Array.from({ length: 12 }, (_, index) => `m${index}`);
    const scores = scoreRanking(contents.slice(0, 10), new Set(contents));
    expect(scores['nDCG@10']).toBeCloseTo(1, 12);
    expect(scores['r@10']).toBeCloseTo(10 / 12, 12);
  });

  it('ignores results after the tenth', () => {
    const ranked = [...Array.from({ length: 10 }, (_, index) => `x${index}`), 'a'];
    expect(scoreRanking(ranked, new Set(['a'])).MRR).toBe(0);
  });

  it('counts a memory as relevant if its content equals that of a relevant memory', () => {
    expect(scoreRanking(['Ann: yes'], new Set(['Ann: yes']))['r@1']).toBe(1);
  });

  it('counts memories with equal content once, at the best rank', () => {
    const scores = scoreRanking(['a', 'a', 'b'], new Set(['a', 'b']));
    expect(scores['r@5']).toBe(1);
    // 1 + 1/log2(4) = 1.5 over 1 + 1/log2(3) = 1.630930
    expect(scores['nDCG@10']).toBeCloseTo(0.919721, 6);
  });

  it('throws for a question without relevant memories', () => {
    expect(() => scoreRanking(['a'], new Set())).toThrow('no score');
  });
});

describe('meanScores', () => {
  it('returns the mean of each metric over all questions', () => {
    const one = scoreRanking(['a'], new Set(['a']));
    const none = scoreRanking(['x'], new Set(['a']));
    const half = { 'r@1': 0.5, 'r@5': 0.5, 'r@10': 0.5, 'any@5': 0.5, 'all@5': 0.5, 'nDCG@10': 0.5, MRR: 0.5 };
    expect(meanScores([one, none])).toEqual(half);
  });
});
