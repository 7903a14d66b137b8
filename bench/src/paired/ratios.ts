import { percentile } from '../percentile.ts';
import { pairedBootstrap } from '../quality/bootstrap.ts';

/** What both sides took, one value a round. */
export interface Pair {
  old: number[];
  new: number[];
}

export interface Comparison {
  what: string;
  /** The medians of both sides, in milliseconds or bytes. */
  old: number;
  new: number;
  /** New over old: the geometric mean over rounds, with its 95 % interval, or the ratio of one percentile of each. */
  ratio: number;
  low?: number;
  high?: number;
}

/** Compares round by round, so that what slows the machine for a while slows both sides. */
export function compare(what: string, { old, new: now }: Pair): Comparison {
  const { mean, low, high } = pairedBootstrap(now.map((value, round) => Math.log(value / (old[round] ?? Number.NaN))));
  const medians = { old: percentile(old, 50), new: percentile(now, 50) };
  return { what, ...medians, ratio: Math.exp(mean), low: Math.exp(low), high: Math.exp(high) };
}

/** Compares the slowest of all rounds: of a hundredth of the values there are too few in each. */
export function compareTails(what: string, { old, new: now }: Pair): Comparison {
  const tails = { old: percentile(old, 99), new: percentile(now, 99) };
  return { what, ...tails, ratio: tails.new / tails.old };
}
