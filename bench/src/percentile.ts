/**
 * The value that at least `percent` of the values do not exceed, by nearest rank; NaN of no values.
 *
 * @param percent more than 0, at most 100
 */
export function percentile(values: ArrayLike<number>, percent: number): number {
  const sorted = Float64Array.from(values).sort();
  const rank = Math.ceil((percent / 100) * sorted.length);
  return sorted[Math.max(rank, 1) - 1] ?? Number.NaN;
}
