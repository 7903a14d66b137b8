/** Number of results that are scored. */
export const RESULTS = 10;

/**
 * The scores of one answered question, each from 0 to 1.
 *
 * - `r@k`: fraction of the relevant memories that are among the first k results.
 * - `any@5`, `all@5`: 1 when any, or every, relevant memory is among the first 5 results: recall_any@k and recall_all@k
 *   of LongMemEval (Wu et al. 2025, arXiv:2410.10813).
 * - `nDCG@10`: discounted cumulative gain (Järvelin and Kekäläinen 2002) with gain 1 for a relevant memory and the
 *   discount log2(rank + 1) (Burges et al. 2005), divided by the gain of the best possible order.
 * - `MRR`: one over the rank of the first relevant result (Voorhees 1999), 0 when none of the 10 is relevant.
 */
export const METRICS = ['r@1', 'r@5', 'r@10', 'any@5', 'all@5', 'nDCG@10', 'MRR'] as const;
type Metric = (typeof METRICS)[number];
export type Scores = Record<Metric, number>;

/**
 * Scores one ranking. Memories are compared by content: a result with the content of a relevant memory is relevant, and
 * equal contents count once, at the best rank.
 *
 * @param ranked contents of the results, best first; results after the tenth are ignored
 * @param relevant contents of the relevant memories
 * @throws RangeError if `relevant` is empty
 */
export function scoreRanking(ranked: readonly string[], relevant: ReadonlySet<string>): Scores {
  if (relevant.size === 0)
    throw new RangeError('relevant must not be empty: a question without relevant memories has no score');
  const first = ranked.slice(0, RESULTS);
  const hitRanks = first.flatMap((content, index) =>
    relevant.has(content) && first.indexOf(content) === index ? [index + 1] : [],
  );
  const hitsWithin = (k: number): number => hitRanks.filter((rank) => rank <= k).length;
  return {
    'r@1': hitsWithin(1) / relevant.size,
    'r@5': hitsWithin(5) / relevant.size,
    'r@10': hitsWithin(10) / relevant.size,
    'any@5': hitsWithin(5) > 0 ? 1 : 0,
    'all@5': hitsWithin(5) === relevant.size ? 1 : 0,
    'nDCG@10': discountedGain(hitRanks) / discountedGain(bestRanks(relevant.size)),
    MRR: hitRanks[0] === undefined ? 0 : 1 / hitRanks[0],
  };
}

/** Returns the mean of each score; NaN without scores. */
export function meanScores(all: readonly Scores[]): Scores {
  const mean = (metric: Metric): number => all.reduce((sum, scores) => sum + scores[metric], 0) / all.length;
  return Object.fromEntries(METRICS.map((metric) => [metric, mean(metric)])) as Scores;
}

function discountedGain(hitRanks: readonly number[]): number {
  return hitRanks.reduce((sum, rank) => sum + 1 / Math.log2(rank + 1), 0);
}

function bestRanks(relevantCount: number): number[] {
  return Array.from({ length: Math.min(RESULTS, relevantCount) }, (_, index) => index + 1);
}
