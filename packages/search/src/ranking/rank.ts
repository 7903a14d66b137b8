import { getEvidence } from './evidence.ts';
import { placeStatementsFirst } from './first-place.ts';
import type { Evidence, Ranked, Ranking } from './ranking.ts';
import { createNameTest, getMinScore } from './relevance.ts';
import {
  createScoreOrder,
  EVIDENCE,
  type EvidenceColumns,
  getScores,
  placeBelowSources,
  placeBelowSuccessors,
} from './scores.ts';
import type { Signals } from './signals.ts';
import { placeByTime } from './time-order.ts';

/**
 * Score resolution: scores are rounded to multiples of 1/SCORE_STEPS, both in results and before the comparison with
 * `minScore`.
 */
const SCORE_STEPS = 100_000;

/** A ranked row of the signals. */
export interface RankedRow extends Ranked {
  row: number;
}

/**
 * Ranks the candidate rows, best first. A row ranks below the memory that supersedes it, unless the query asks for what
 * was before, and a semantic memory below its sources. Statements that fit better may take the first places (see
 * `placeStatementsFirst`), and of two notes about the same thing, the later one ranks first (see `placeByTime`). None of
 * this applies if each row has its own evidence. Of equal scores, the newer memory ranks first. The scores of pool rows
 * do not depend on the limit.
 */
export function rank(signals: Signals, ranking: Ranking): RankedRow[] {
  const { limit, intent, scale, hasOwnEvidence } = ranking;
  const evidence = getEvidence(signals, intent, scale);
  const order = createScoreOrder(getScores(evidence));
  if (!hasOwnEvidence && !intent?.asksForBefore) placeBelowSuccessors(order, signals);
  if (!hasOwnEvidence) placeBelowSources(order, signals);
  const { scores, above, scoreRows } = order;
  const rows = [...scores.keys()].sort(
    (left, right) =>
      (scores[right] as number) - (scores[left] as number) ||
      (above[left] as number) - (above[right] as number) ||
      (signals.ordinals[right] as number) - (signals.ordinals[left] as number),
  );
  if (!hasOwnEvidence) {
    const moved = placeStatementsFirst(order, rows, signals, ranking);
    // A single row that moved keeps its place, even if the row that it displaced is later.
    if (moved !== 1) placeByTime(order, rows, signals, ranking);
  }
  const minScore = getMinScore(ranking, scores[rows[0] ?? 0] ?? 0);
  const isNamed = ranking.onlyRelevant ? createNameTest(signals) : () => true;
  const relevant = rows.filter((row) => roundScore(scores[row] as number) >= minScore && isNamed(row));
  return relevant.slice(0, limit).map((row) => ({
    row,
    score: roundScore(scores[row] as number),
    evidence: getRowEvidence(evidence, scoreRows[row] as number),
    isInherited: scoreRows[row] !== row,
  }));
}

function getRowEvidence(columns: EvidenceColumns, row: number): Evidence {
  const evidence: Partial<Evidence> = {};
  for (const name of EVIDENCE) evidence[name] = columns[name][row] as number;
  return evidence as Evidence;
}

/** Returns the results of `rank` by ordinal, best first. */
export function rankOrdinals(signals: Signals, ranking: Ranking): Map<number, Ranked> {
  return new Map(rank(signals, ranking).map(({ row, ...ranked }) => [signals.ordinals[row] as number, ranked]));
}

function roundScore(score: number): number {
  return Math.round(score * SCORE_STEPS) / SCORE_STEPS;
}
