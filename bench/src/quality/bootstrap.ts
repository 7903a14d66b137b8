import { percentile } from '../percentile.ts';
import { randomIndex, seededRandom } from '../random.ts';

const DRAWS = 4000;
const SEED = 20_021;

/** A mean difference and the interval that holds it with 95 % confidence. */
export interface Difference {
  mean: number;
  low: number;
  high: number;
}

/**
 * The paired bootstrap over questions: percentile interval of the mean difference over 4,000 resamples with
 * replacement (Efron and Tibshirani 1993, chapter 13). The same differences always give the same interval.
 *
 * @param differences new score minus old score, one a question; at least one
 */
export function pairedBootstrap(differences: readonly number[]): Difference {
  const random = seededRandom(SEED);
  const means = Float64Array.from({ length: DRAWS }, () => {
    let sum = 0;
    for (let draw = 0; draw < differences.length; draw++) {
      sum += differences[randomIndex(random, differences.length)] ?? 0;
    }
    return sum / differences.length;
  });
  return {
    mean: differences.reduce((sum, difference) => sum + difference, 0) / differences.length,
    low: percentile(means, 2.5),
    high: percentile(means, 97.5),
  };
}
