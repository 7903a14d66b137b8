import { WEIGHTS } from './weights.ts';

/** How near a memory is to the query by meaning, from 0 to 1, by the cosine of its nearest part; NaN is not known. */
export function meaningOf(cosine: number): number {
  return Number.isNaN(cosine) ? WEIGHTS.unknownCosine : Math.min(1, Math.max(0, cosine));
}
