import { getPercentile } from '../percentile.ts';

/** Figures of one step by name, with the unit at the end of the name; null if not available on this system. */
export type Figures = Record<string, number | string | boolean | null>;

/** Returns percentiles as `p50_ms` and so on; null if there are no durations. */
export function percentilesMs(durationsMs: ArrayLike<number>, percents: readonly number[]): Figures {
  return Object.fromEntries(
    percents.map((percent) => [
      `p${percent}_ms`,
      durationsMs.length > 0 ? roundFigure(getPercentile(durationsMs, percent)) : null,
    ]),
  );
}

/** Adds a prefix to the name of each figure. */
export function addPrefix(prefix: string, figures: Figures): Figures {
  return Object.fromEntries(Object.entries(figures).map(([name, figure]) => [`${prefix}_${name}`, figure]));
}

/**
 * Rounds to three significant digits, or to an integer if the absolute value is at least 100. More digits would suggest
 * false precision.
 */
export function roundFigure(figure: number): number {
  return Math.abs(figure) >= 100 ? Math.round(figure) : Number(figure.toPrecision(3));
}
