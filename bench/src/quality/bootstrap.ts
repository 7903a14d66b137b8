import { getPercentile } from '../percentile.ts';
import { createRandom, drawIndex } from '../random.ts';

const DRAWS = 4000;
const SEED = 20_021;

/** A mean difference with its 95 % confidence interval. */
export interface Difference {
  mean: number;
  low: number;
  high: number;
}

/**
 * Computes a paired bootstrap: the percentile interval of the mean difference over 4,000 resamples with replacement
 * (Efron and Tibshirani 1993, chapter 13). The generator is seeded, so the same differences give the same interval.
 *
 * @param differences differences of pairs, such as new score minus old score of each question; at least one
 */
export function pairedBootstrap(differences: readonly number[]): Difference {
  const random = createRandom(SEED);
  const means = Float64Array.from({ length: DRAWS }, () => {
    let sum = 0;
    for (let draw = 0; draw < differences.length; draw++) {
      sum += differences[drawIndex(random, differences.length)] ?? 0;
    }
    return sum / differences.length;
  });
  return {
    mean: differences.reduce((sum, difference) => sum + difference, 0) / differences.length,
    low: getPercentile(means, 2.5),
    high: getPercentile(means, 97.5),
  };
}
