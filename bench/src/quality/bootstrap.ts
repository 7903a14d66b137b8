import { getPercentile } from '../percentile.ts';
import { createRandom, drawItem } from '../random.ts';

const DRAWS = 4000;
const SEED = 20_021;

/** A 95 % confidence interval. */
interface Interval {
  low: number;
  high: number;
}

/** A mean difference with its 95 % confidence interval. */
export interface Difference extends Interval {
  mean: number;
}

/**
 * Computes a paired bootstrap: the percentile interval of the mean difference over 4,000 resamples with replacement
 * (Efron and Tibshirani 1993, chapter 13). The generator is seeded, so the same differences give the same interval.
 *
 * @param differences differences of pairs, such as new score minus old score of each question; at least one
 */
export function pairedBootstrap(differences: readonly number[]): Difference {
  return { mean: getMean(differences), ...bootstrap(differences, getMean) };
}

/**
 * Returns the 95 % percentile interval of a statistic over 4,000 seeded resamples with replacement.
 *
 * @param items measured items; at least one
 */
export function bootstrap<T>(items: readonly T[], getStatistic: (sample: readonly T[]) => number): Interval {
  const random = createRandom(SEED);
  const statistics = Float64Array.from({ length: DRAWS }, () =>
    getStatistic(Array.from(items, () => drawItem(random, items))),
  );
  return { low: getPercentile(statistics, 2.5), high: getPercentile(statistics, 97.5) };
}

function getMean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
