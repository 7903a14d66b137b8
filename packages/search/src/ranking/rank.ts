import { getEvidence } from './evidence.ts';
import type { Evidence, Ranked, Ranking } from './ranking.ts';
import {
  createScoreOrder,
  EVIDENCE,
  type EvidenceColumns,
  getScores,
  placeBelowSources,
  placeBelowSuccessors,
} from './scores.ts';
import type { Signals } from './signals.ts';

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
 * Ranks the candidate rows, best first. A row ranks below the memory that supersedes it, and a semantic memory below
 * its sources. Of equal scores, the newer memory ranks first. The scores of pool rows do not depend on the limit.
 */
export function rank(signals: Signals, { limit, minScore = 0, intent, scale }: Ranking): RankedRow[] {
  const evidence = getEvidence(signals, intent, scale);
  const order = createScoreOrder(getScores(evidence));
  placeBelowSuccessors(order, signals);
  placeBelowSources(order, signals);
  const { scores, above, scoreRows } = order;
  const rows: number[] = [];
  for (let row = 0; row < scores.length; row += 1) if (roundScore(scores[row] as number) >= minScore) rows.push(row);
  rows.sort(
    (left, right) =>
      (scores[right] as number) - (scores[left] as number) ||
      (above[left] as number) - (above[right] as number) ||
      (signals.ordinals[right] as number) - (signals.ordinals[left] as number),
  );
  return rows.slice(0, limit).map((row) => ({
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
