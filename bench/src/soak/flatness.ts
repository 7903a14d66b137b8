/** One look at the server. */
export interface Sample {
  atS: number;
  residentMb: number;
  memories: number;
}

/** What the samples say of memory in use. */
export interface Flatness {
  /** By how much it rose over the last two thirds, by the line of least squares through them. */
  rise_mb: number;
  /** By how much it may have. */
  allowed_mb: number;
  flat: boolean;
}

/** What a memory takes in the index and beside it, with room to spare: 453 MB at 100,000 less 371 at 10,000 is .9 KB. */
const MEMORY_BYTES = 2000;

/** What allocators and collectors make resident memory vary by, as a part of it. */
const VARIATION = 0.08;

/** Judges whether memory stays where it is, but for what the memories that came to be need. The first third warms up. */
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
