/** Word for the probability that a result answers the query. */
export type ScoreWord = 'likely' | 'possible' | 'weak';

/**
 * Words with their lowest scores, highest first. 0.5: results with this score are as often relevant as irrelevant.
 * 0.25: the threshold of `only_relevant`.
 */
export const SCORE_WORDS: readonly { word: ScoreWord; minScore: number }[] = [
  { word: 'likely', minScore: 0.5 },
  { word: 'possible', minScore: 0.25 },
  { word: 'weak', minScore: 0 },
];

/**
 * Returns the word for the score of a recall result.
 *
 * @param score from 0 to 1
 * @example getScoreWord(0.31) // 'possible'
 */
export function getScoreWord(score: number): ScoreWord {
  return SCORE_WORDS.find(({ minScore }) => score >= minScore)?.word ?? 'weak';
}
