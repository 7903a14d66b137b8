/** One sample of the server's memory. */
export interface Sample {
  atS: number;
  residentMb: number;
  memories: number;
}

/** Result of judging whether resident memory is flat. */
export interface Flatness {
  /** Rise over the last two thirds of the samples, by linear least squares. */
  rise_mb: number;
  /** Maximum rise at which memory is regarded as flat. */
  allowed_mb: number;
  flat: boolean;
}

/** Allowed bytes per additional memory. Measured: 0.9 KB (453 MB at 100,000 memories, 371 MB at 10,000 memories). */
const MEMORY_BYTES = 2000;

/** Allowed variation due to allocators and garbage collection, as a fraction of the mean. */
const VARIATION = 0.08;

/**
 * Judges whether resident memory is flat. The allowed rise is `VARIATION` of the mean, plus `MEMORY_BYTES` for each
 * additional memory. The first third of the samples is warm-up and is ignored. With fewer than three other samples, the
 * figures are NaN and memory is not flat.
 */
export function judgeFlatness(samples: readonly Sample[]): Flatness {
  const settled = samples.slice(Math.floor(samples.length / 3));
  const [first, last] = [settled[0], settled.at(-1)];
  if (!first || !last || settled.length < 3) return { rise_mb: Number.NaN, allowed_mb: Number.NaN, flat: false };
  const meanS = mean(settled.map(({ atS }) => atS));
  const meanMb = mean(settled.map(({ residentMb }) => residentMb));
  const covariance = mean(settled.map(({ atS, residentMb }) => (atS - meanS) * (residentMb - meanMb)));
  const slope = covariance / mean(settled.map(({ atS }) => (atS - meanS) ** 2));
  const rise = slope * (last.atS - first.atS);
  const allowed = VARIATION * meanMb + (Math.max(0, last.memories - first.memories) * MEMORY_BYTES) / 1e6;
  return { rise_mb: Math.round(rise), allowed_mb: Math.round(allowed), flat: rise <= allowed };
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
