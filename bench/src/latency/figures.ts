import { getPercentile } from '../percentile.ts';

/** Figures of one step by name. The name ends with the unit, if the figure has a unit. Null if not measured. */
export type Figures = Record<string, number | string | boolean | null>;

/**
 * Returns each percentile of the durations, rounded by `roundFigure`, under a name such as `p50_ms`. Null if there are
 * no durations.
 */
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
