const RANK_CONSTANT = 60;

/**
 * Merges rankings by reciprocal rank fusion (Cormack, Clarke and Büttcher 2009): returns ids by the sum of
 * 1 / (60 + rank) over the rankings, best first.
 */
export function fuseRanks(rankings: readonly (readonly number[])[]): number[] {
  const scores = new Map<number, number>();
  for (const ranking of rankings) {
    for (const [index, id] of ranking.entries()) {
      scores.set(id, (scores.get(id) ?? 0) + 1 / (RANK_CONSTANT + index + 1));
    }
  }
  return sortByScore(scores);
}

/** Returns the keys by descending score. Keys with equal scores stay in insertion order. */
export function sortByScore<T>(scores: ReadonlyMap<T, number>): T[] {
  return [...scores].sort(([, a], [, b]) => b - a).map(([key]) => key);
}
