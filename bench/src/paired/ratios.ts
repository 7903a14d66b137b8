import { getPercentile } from '../percentile.ts';
import { pairedBootstrap } from '../quality/bootstrap.ts';

/** Measured values of the two compared systems, in order of measurement. */
export interface Pair {
  old: number[];
  new: number[];
}

export interface Comparison {
  what: string;
  /** Median, or 99th percentile, of each system. */
  old: number;
  new: number;
  /**
   * `new / old`. From `compare`: the geometric mean over pairs, with a 95 % interval from `low` to `high`. From
   * `compareTails`: the ratio of the percentiles, without an interval.
   */
  ratio: number;
  low?: number;
  high?: number;
}

/** Compares paired values, so that a temporary slowdown of the machine affects both values of a pair. */
export function compare(what: string, { old, new: now }: Pair): Comparison {
  const { mean, low, high } = pairedBootstrap(now.map((value, round) => Math.log(value / (old[round] ?? Number.NaN))));
  const medians = { old: getPercentile(old, 50), new: getPercentile(now, 50) };
  return { what, ...medians, ratio: Math.exp(mean), low: Math.exp(low), high: Math.exp(high) };
}

/** Compares the 99th percentiles over all rounds, because one round has too few values for a percentile. */
export function compareTails(what: string, { old, new: now }: Pair): Comparison {
  const tails = { old: getPercentile(old, 99), new: getPercentile(now, 99) };
  return { what, ...tails, ratio: tails.new / tails.old };
}
