/** Waiting memories that one call goes past, whether or not they can be looked at now. */
export const PASSED_AT_ONCE = 256;

/** Nearest memories that are looked at for each vector of a candidate: several times as many as a group has. */
export const NEAREST = 32;

/** Vectors of a candidate by which its neighbours are looked for; a text of more parts is about no one thing. */
export const MAX_VECTORS = 4;

/** How much of a candidate's text is read for its words. */
export const WORDS_CHARS = 8192;

/** Memories whose likeness stands for that of any, and how many pairs of them chance could make alike. */
const SAMPLED = 64;
const MIN_PAIRS = 24;

/** What pairs beyond a small sample are taken to be: two texts that have nothing in common, by most models. */
const USUAL_COSINE = 0.1;

/** Times spread evenly from the first to the last, at which memories are sampled. */
export function sampledTimes(first: number, last: number): number[] {
  return Array.from({ length: SAMPLED }, (_, i) => first + Math.floor(((last - first) * i) / SAMPLED));
}

/**
 * About the median cosine of memories that have nothing to do with each other, by the cosines of a sample's pairs:
 * neighbours in time are often about one matter, so each is held against one half of the sample away.
 */
export function getBackground(cosines: readonly number[]): number {
  const enough = [...cosines];
  while (enough.length < MIN_PAIRS) enough.push(USUAL_COSINE);
  return enough.sort((a, b) => a - b)[Math.floor(enough.length / 2)] as number;
}
