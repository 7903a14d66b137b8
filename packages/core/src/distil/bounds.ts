/**
 * Version of the rules that select the memories to distil together. With each change of the rules that lets more
 * memories be distilled, increase the version: runs then look again at the memories that earlier rules passed over.
 */
export const DISTILLING_RULES = 1;

/** Limits of distilling that searches share. */
export const DISTIL_LIMITS = {
  /** Two similar memories may be one statement repeated; three show that a topic lasts. */
  minSources: 3,
  /** A semantic memory quotes at most eight sentences, which would cover little of a larger group. */
  maxSources: 12,
  /** Queued memories that one call of `Storage.distilCandidates` examines, including memories that are not ready. */
  waiting: 256,
  /** Nearest memories examined per vector of a candidate: several times the size of a group. */
  nearest: 32,
  /** Vectors of a candidate that are searched for neighbors. A text with more vectors has no single topic. */
  vectors: 4,
  /** Characters of a candidate's text that are searched for rare words. */
  chars: 8192,
  /**
   * Texts of an owner that are sampled for the background cosine: twice the number used, because a sample can contain
   * many texts that are nearly equal, such as daily notes with a date.
   */
  sampled: 128,
} as const;

/** Maximum sampled texts that are used. */
const MAX_COMPARED = 64;

/** Minimum cosine of two texts that are nearly equal. Only one of such texts is used. */
const MIN_NEARLY_EQUAL = 0.9;

/** Minimum number of texts for a reliable estimate. */
const MIN_COMPARED = 16;

/** The typical cosine of two unrelated texts with most models. */
const UNRELATED_COSINE = 0.1;

/**
 * Returns the approximate cosine of unrelated memories of one owner: the lower quartile of the cosines of sampled
 * texts. The quartile is more stable than the median if an owner has one conversation and many notes in one form,
 * because pairs of such notes do not count as unrelated. Returns at least `UNRELATED_COSINE`.
 *
 * @param count number of sampled texts. The texts must be in random order, and none may occur twice
 * @param getCosine returns the cosine of the sampled texts with two different indexes, in the range of the bundled model
 */
export function getBackground(count: number, getCosine: (one: number, other: number) => number): number {
  const compared: number[] = [];
  const cosines: number[] = [];
  for (let text = 0; text < count && compared.length < MAX_COMPARED; text++) {
    const toCompared = compared.map((other) => getCosine(text, other));
    if (toCompared.some((cosine) => cosine >= MIN_NEARLY_EQUAL)) continue;
    compared.push(text);
    cosines.push(...toCompared);
  }
  if (compared.length < MIN_COMPARED) return UNRELATED_COSINE;
  const quartile = cosines.sort((a, b) => a - b)[Math.floor(cosines.length / 4)] as number;
  return Math.max(UNRELATED_COSINE, quartile);
}
