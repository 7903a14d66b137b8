import type { Ranking } from './ranking.ts';
import { containsWord, NO_SESSION, type Signals } from './signals.ts';
import { WEIGHTS } from './weights.ts';

/**
 * Returns the minimum score of a result, from 0 to 1.
 *
 * @param best the unrounded score of the best row
 */
export function getMinScore({ minScore = 0, onlyRelevant }: Ranking, best: number): number {
  if (!onlyRelevant) return minScore;
  return Math.max(minScore, WEIGHTS.relevantScore, WEIGHTS.relevantShare * best);
}

/** Maximum words of a query that is about its names. A longer query names more than it asks about; measured. */
const MAX_NAMED_WORDS = 14;

/**
 * Returns a test for rows: true for a row that contains a name or number of the query, or whose session contains one in
 * the pool. Names that no memory contains do not count. For a long query, or without names, the test is true for all rows.
 */
export function createNameTest(signals: Signals): (row: number) => boolean {
  const { named, documentFrequencies, pool, sessions } = signals;
  const names = [...named.keys()].filter((word) => named[word] === 1 && (documentFrequencies[word] as number) > 0);
  if (names.length === 0 || named.length > MAX_NAMED_WORDS) return () => true;
  const hasName = (row: number) => names.some((word) => containsWord(signals, row, word));
  const sessionsWithName = new Set<number>();
  for (let row = 0; row < pool; row += 1) if (hasName(row)) sessionsWithName.add(sessions[row] as number);
  sessionsWithName.delete(NO_SESSION);
  return (row) => hasName(row) || sessionsWithName.has(sessions[row] as number);
}
