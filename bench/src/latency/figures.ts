import { percentile } from '../percentile.ts';

/** Named figures of one step, the unit last in each name; null where this system does not tell. */
export type Figures = Record<string, number | string | boolean | null>;

/** The percentiles of durations in milliseconds, as `p50_ms` and so on; null of no durations. */
export function percentilesMs(durationsMs: ArrayLike<number>, percents: readonly number[]): Figures {
  return Object.fromEntries(
    percents.map((percent) => [
      `p${percent}_ms`,
      durationsMs.length > 0 ? rounded(percentile(durationsMs, percent)) : null,
    ]),
  );
}

/** Figures of something that goes on beside what a step measures. */
export function prefixed(prefix: string, figures: Figures): Figures {
  return Object.fromEntries(Object.entries(figures).map(([name, figure]) => [`${prefix}_${name}`, figure]));
}

/** Three significant digits: more would only look exact. */
export function rounded(figure: number): number {
  return Math.abs(figure) >= 100 ? Math.round(figure) : Number(figure.toPrecision(3));
}
