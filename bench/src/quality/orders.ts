import type { Explanation, RecallResult } from '@memoryd/contract';

/** Number of results per question that are reordered. */
export const MAX_REORDERED = 50;

type Evidence = Explanation['evidence'];

/**
 * Returns the results of a recall in simple orders, by name: by each kind of evidence alone, in the direction of its
 * weight, and by sums of the evidence `words` and `meaning`. If a simple order scores higher than the original order,
 * memoryd's weights are wrong. Results with equal values stay in the original order. Returns no orders if there are no
 * results.
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
