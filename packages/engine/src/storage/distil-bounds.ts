/** Maximum queued memories that one call examines, whether or not they are ready. */
export const PASSED_AT_ONCE = 256;

/** Nearest memories examined per vector of a candidate: several times the size of a group. */
export const NEAREST = 32;

/** Maximum vectors of a candidate used to find its neighbors. A text with more parts has no single topic. */
export const MAX_VECTORS = 4;

/** Maximum characters of a candidate's text that are analyzed. */
export const WORDS_CHARS = 8192;

/** Number of sampled memories, and minimum number of pairs for a reliable median. */
const SAMPLED = 64;
const MIN_PAIRS = 24;

/** Cosine that fills up a small sample: the typical value of most models for two unrelated texts. */
const UNRELATED_COSINE = 0.1;

/** Returns sampling times, evenly spaced from `first` to `last`. */
export function sampledTimes(first: number, last: number): number[] {
  return Array.from({ length: SAMPLED }, (_, i) => first + Math.floor(((last - first) * i) / SAMPLED));
}

/**
 * Returns the approximate median cosine of unrelated memories.
 *
 * @param cosines cosines of sample pairs, half the sample apart, because memories close in time often share a topic
 */
export function getBackground(cosines: readonly number[]): number {
  const enough = [...cosines];
  while (enough.length < MIN_PAIRS) enough.push(UNRELATED_COSINE);
  return enough.sort((a, b) => a - b)[Math.floor(enough.length / 2)] as number;
}
