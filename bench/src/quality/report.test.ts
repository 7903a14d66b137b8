import { describe, expect, it } from 'vitest';
import { type Scores, scoreRanking } from './metrics.ts';
import { formatTable, reportLines, toJson } from './report.ts';
import type { QuestionScores } from './saved-run.ts';

function scoredAt(rank: number, id: string, category: string): QuestionScores {
  const ranked = [...Array.from({ length: rank - 1 }, (_, index) => `x${index}`), 'wanted'];
  return { set: 'beam', store: 's', id, category, ...scoreRanking(ranked, new Set(['wanted'])) };
}

const run = {
  scored: [
    scoredAt(1, 'q1', 'knowledge_update'),
    scoredAt(3, 'q2', 'temporal_reasoning'),
    scoredAt(11, 'q3', 'summarization'),
  ],
  skipped: [{ category: 'summarization' }],
  getOrders: [],
};

describe('reportLines', () => {
  it('returns one line per category, one for the nameable categories, and one for all questions', () => {
    const lines = reportLines(run);
    expect(lines.map(({ category, questions, skipped }) => [category, questions, skipped])).toEqual([
      ['knowledge_update', 1, 0],
      ['summarization', 1, 1],
      ['temporal_reasoning', 1, 0],
      ['nameable', 2, 0],
      ['all', 3, 1],
    ]);
    // Ranks 1 and 3: (1 + 1/log2(4)) / 2
    expect(lines[3]?.scores['nDCG@10']).toBeCloseTo(0.75, 12);
    expect(lines[4]?.scores['nDCG@10']).toBeCloseTo(0.5, 12);
  });

  it('omits the line for nameable categories if every category is nameable', () => {
    const lines = reportLines({ scored: [scoredAt(1, 'q1', 'claim')], skipped: [], getOrders: [] });
    expect(lines.map(({ category }) => category)).toEqual(['claim', 'all']);
  });

  it('returns one line per order, and scores questions without results as 0', () => {
    const scores = (rank: number): Scores =>
      scoreRanking([...Array(rank - 1).fill('x'), 'wanted'], new Set(['wanted']));
    const lines = reportLines({ ...run, getOrders: [{ words: scores(1), meaning: scores(3) }, {}] });
    expect(lines.slice(-2).map((line) => [line.category, line.scores['nDCG@10']])).toEqual([
      ['by words', 0.5],
      ['by meaning', 0.25],
    ]);
  });

  it('compares only questions that both runs scored, regardless of their order', () => {
    const saved = [scoredAt(1, 'q2', 'temporal_reasoning'), scoredAt(3, 'q1', 'knowledge_update')];
    const all = reportLines(run, saved).at(-1);
    // q1 went from .5 to 1 and q2 from 1 to .5; q3 is not in the saved run.
    expect(all?.against?.questions).toBe(2);
    expect(all?.against?.difference).toEqual({ mean: 0, low: -0.5, high: 0.5 });
  });

  it('reportLines does not compare questions with the same id from different data sets', () => {
    const saved = [{ ...scoredAt(1, 'q1', 'knowledge_update'), set: 'locomo' }];
    expect(reportLines(run, saved).at(-1)?.against).toBeUndefined();
  });
});

describe('formatTable and toJson', () => {
  it('formatTable and toJson show no score for a category without scored questions', () => {
    const lines = reportLines({ scored: [], skipped: [{ category: 'claim' }], getOrders: [] });
    expect(formatTable('scifact', lines).split('\n')[1]).toMatch(/^claim +0 +1 +– /);
    expect(toJson(lines[0] as (typeof lines)[number])).toMatchObject({ questions: 0, skipped: 1, 'nDCG@10': null });
  });
});
