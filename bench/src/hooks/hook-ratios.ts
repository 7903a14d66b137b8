import { getPercentile } from '../percentile.ts';
import { bootstrap } from '../quality/bootstrap.ts';
import type { Round } from './latency.ts';

/** Maximum ratio of a hook to a recall, at p50 and p99. */
export const MAX_RATIO = 1.3;

export interface HookRatio {
  /** `hook`: hook / recall. `file`: (file of the hooks − two bare starts of Node) / recall. */
  what: 'hook' | 'file';
  percent: 50 | 99;
  /** Ratio of the percentiles of all rounds, with the 95 % interval of a bootstrap over rounds. */
  ratio: number;
  low: number;
  high: number;
  /** The same ratio of the first and of the second half of the rounds, which differ by noise alone. */
  halves: [number, number];
}

/** Compares hooks with recalls of the same rounds. */
export function compareHooks(rounds: readonly Round[]): HookRatio[] {
  const half = Math.floor(rounds.length / 2);
  return (['hook', 'file'] as const).flatMap((what) =>
    ([50, 99] as const).map((percent) => {
      const getRatio = (sample: readonly Round[]) => getHookRatio(sample, what, percent);
      const halves: [number, number] = [getRatio(rounds.slice(0, half)), getRatio(rounds.slice(half))];
      return { what, percent, ratio: getRatio(rounds), ...bootstrap(rounds, getRatio), halves };
    }),
  );
}

function getHookRatio(rounds: readonly Round[], what: HookRatio['what'], percent: number): number {
  const get = (kind: keyof Round) =>
    getPercentile(
      rounds.map((round) => round[kind]),
      percent,
    );
  return (what === 'hook' ? get('hook') : get('file') - 2 * get('node')) / get('recall');
}
