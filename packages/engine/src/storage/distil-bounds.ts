/**
 * Maximum queued memories that one call of `Storage.distilCandidates` examines, including memories that are not ready
 * to be distilled.
 */
export const PASSED_AT_ONCE = 256;

/** Nearest memories examined per vector of a candidate: several times the size of a group. */
export const NEAREST = 32;

/**
 * Maximum vectors of a candidate that are searched for neighbors. Further vectors are ignored, because such a long text
 * has no single topic.
 */
export const MAX_VECTORS = 4;

/** Maximum characters of a candidate's text that are searched for rare words. */
export const WORDS_CHARS = 8192;

/** Number of memories in a sample. */
const SAMPLED = 64;

/** Minimum number of cosines for a reliable median. */
const MIN_PAIRS = 24;

/** Cosine that pads a sample with too few pairs: the typical cosine of two unrelated texts with most models. */
const UNRELATED_COSINE = 0.1;

/** Returns the creation times, in ms, at which to sample memories: evenly spaced from `first` to before `last`. */
export function sampledTimes(first: number, last: number): number[] {
  return Array.from({ length: SAMPLED }, (_, i) => first + Math.floor(((last - first) * i) / SAMPLED));
}

/**
 * Returns the approximate median cosine of unrelated memories.
 *
 * @param cosines cosines of pairs of sampled memories. The members of a pair are half the sample apart, because
 * memories close in time often share a topic
 */
export function getBackground(cosines: readonly number[]): number {
  const enough = [...cosines];
  while (enough.length < MIN_PAIRS) enough.push(UNRELATED_COSINE);
  return enough.sort((a, b) => a - b)[Math.floor(enough.length / 2)] as number;
}
