const RANK_CONSTANT = 60;

/**
 * Reciprocal rank fusion (Cormack, Clarke and Büttcher 2009): what several rankings hold, by the sum of 1 / (60 + rank)
 * over them, best first.
 */
export function fuseRanks(rankings: readonly (readonly number[])[]): number[] {
  const scores = new Map<number, number>();
  for (const ranking of rankings) {
    for (const [index, id] of ranking.entries()) {
      scores.set(id, (scores.get(id) ?? 0) + 1 / (RANK_CONSTANT + index + 1));
    }
  }
  return byScore(scores);
}

/** The keys with the highest scores first; of equal scores, the one that was set first. */
export function byScore<T>(scores: ReadonlyMap<T, number>): T[] {
  return [...scores].sort(([, a], [, b]) => b - a).map(([key]) => key);
}
