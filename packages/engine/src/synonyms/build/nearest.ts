import { MOST_SYNONYMS, type Neighbours } from '../table.ts';

/** Cosine of words that have nothing to do with each other, at most: synonyms are nearer. */
const LEAST_COSINE = 0.45;

/** The words nearest to each by the cosines of their vectors, which have unit length. */
export function* nearestOf(vectors: readonly Float32Array[]): Generator<Neighbours> {
  for (const [place, vector] of vectors.entries()) {
    const near = vectors
      .map((other, at) => ({ at, closeness: at === place ? 0 : closenessOf(vector, other) }))
      .filter(({ closeness }) => closeness > 0)
      .sort((a, b) => b.closeness - a.closeness || a.at - b.at)
      .slice(0, MOST_SYNONYMS);
    yield { places: near.map(({ at }) => at), closeness: near.map(({ closeness }) => closeness) };
  }
}

/** From 0, for the least cosine of synonyms and below, to 1. */
export function closenessOf(one: Float32Array, other: Float32Array): number {
  let cosine = 0;
  for (let i = 0; i < one.length; i++) cosine += (one[i] as number) * (other[i] as number);
  return Math.min(1, Math.max(0, (cosine - LEAST_COSINE) / (1 - LEAST_COSINE)));
}
