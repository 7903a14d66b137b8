import type { Explanation, RecallResult } from '@memoryd/contract';

/** How many of the product's results are put in other orders. */
export const REORDERED = 50;

type Evidence = Explanation['evidence'];

/**
 * Returns the same results in simple orders, by name: by each piece of evidence alone, in the direction of its weight, and by
 * sums of words and meaning. A product that stands below one of them weighs wrong. Results that are equal stay in the
 * product's order. Returns none where there are no results.
 */
export function reordered(results: readonly RecallResult[]): Record<string, RecallResult[]> {
  const weights = results[0]?.explanation?.weights;
  if (!weights) return {};
  const by = (order: (evidence: Evidence) => number) =>
    results
      .map((result) => ({ result, place: order((result.explanation as Explanation).evidence) }))
      .sort((a, b) => b.place - a.place)
      .map(({ result }) => result);
  const alone = Object.entries(weights).map(([name, weight]) => {
    const piece = name as keyof Evidence;
    return [name, by((evidence) => Math.sign(weight) * evidence[piece])];
  });
  return {
    ...Object.fromEntries(alone),
    'words + meaning': by(({ words, meaning }) => words + meaning),
    'words² + meaning': by(({ words, meaning }) => words ** 2 + meaning),
  };
}
