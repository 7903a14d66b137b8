import { WEIGHTS } from './weights.ts';

/**
 * How near a memory is to the query by meaning, from 0 to 1.
 *
 * @param cosine of the nearest of its parts; NaN where it has no vectors
 * @param parts how many it has
 */
export function meaningOf(cosine: number, parts: number): number {
  if (Number.isNaN(cosine)) return WEIGHTS.meaning.unknown;
  return Math.min(1, Math.max(0, cosine - WEIGHTS.meaning.perPart * Math.log(parts)));
}
