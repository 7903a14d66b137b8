import type { Explanation, RecallResult } from '@memoryd/contract';

/** Number of results that are put into other orders. */
export const MAX_REORDERED = 50;

type Evidence = Explanation['evidence'];

/**
 * Returns the same results in simple orders, by name: by each piece of evidence alone, in the direction of its weight,
 * and by sums of words and meaning. If an order scores higher than the product's, the product's weights are wrong.
 * Results with equal values stay in the product's order. Returns no orders without results.
 */
export function getOrders(results: readonly RecallResult[]): Record<string, RecallResult[]> {
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
