/**
 * Returns a percentile by the nearest-rank method; NaN if there are no values.
 *
 * @param percent greater than 0, at most 100
 */
export function getPercentile(values: ArrayLike<number>, percent: number): number {
  const sorted = Float64Array.from(values).sort();
  const rank = Math.ceil((percent / 100) * sorted.length);
  return sorted[Math.max(rank, 1) - 1] ?? Number.NaN;
}
