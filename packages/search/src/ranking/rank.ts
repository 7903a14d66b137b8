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
  type ScoreOrder,
} from './scores.ts';
import type { Signals } from './signals.ts';
import { placeByTime } from './time-order.ts';
import { WEIGHTS } from './weights.ts';

/**
 * Score resolution: scores are rounded to multiples of 1/SCORE_STEPS, both in results and before the comparison with
 * `minScore`.
 */
const SCORE_STEPS = 100_000;

/** Number of best rows whose order depends on more than their scores. */
const ORDERED_ROWS = Math.max(2, WEIGHTS.firstPlace.rows);

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
  const { scores, scoreRows } = order;
  // Relevant results may be any rows.
  const rows = getBestRows(order, signals, ranking.onlyRelevant ? scores.length : Math.max(limit, ORDERED_ROWS));
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

/** Returns at least `count` rows, if there are so many, best first. */
function getBestRows({ scores, above }: ScoreOrder, { ordinals }: Signals, count: number): number[] {
  // Sorting numbers and then a few rows takes a third of the time of sorting all rows.
  const lowest = scores.slice().sort().at(-count) ?? 0;
  const rows: number[] = [];
  for (let row = 0; row < scores.length; row += 1) if ((scores[row] as number) >= lowest) rows.push(row);
  return rows.sort(
    (left, right) =>
      (scores[right] as number) - (scores[left] as number) ||
      (above[left] as number) - (above[right] as number) ||
      (ordinals[right] as number) - (ordinals[left] as number),
  );
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
