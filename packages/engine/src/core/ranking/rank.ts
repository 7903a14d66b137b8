import type { Evidence, Ranked, Ranking } from '../../ports/ranking.ts';
import type { Signals } from '../../ports/storage-search.ts';
import { getEvidence } from './evidence.ts';
import {
  EVIDENCE,
  type EvidenceColumns,
  getScores,
  placeBelowSources,
  placeBelowSuccessors,
  standingBy,
} from './standing.ts';

/** Scores are told to a hundred-thousandth, and held against the one that is needed as told. */
const SCORE_STEPS = 100_000;

/** A row of the signals as it is ranked. */
export interface RankedRow extends Ranked {
  row: number;
}

/**
 * The admitted rows, best first; a row stands below the memory that supersedes it and below the sources that it was
 * distilled from, and of equal scores the newer goes first. Scores rest on the pool alone, never on the limit.
 */
export function rank(signals: Signals, { limit, minScore = 0, intent }: Ranking): RankedRow[] {
  const evidence = getEvidence(signals, intent);
  const standing = standingBy(getScores(evidence));
  placeBelowSuccessors(standing, signals);
  placeBelowSources(standing, signals);
  const { scores, above, givers } = standing;
  const order: number[] = [];
  for (let row = 0; row < scores.length; row += 1) if (told(scores[row] as number) >= minScore) order.push(row);
  order.sort(
    (left, right) =>
      (scores[right] as number) - (scores[left] as number) ||
      (above[left] as number) - (above[right] as number) ||
      (signals.ordinals[right] as number) - (signals.ordinals[left] as number),
  );
  return order.slice(0, limit).map((row) => ({
    row,
    score: told(scores[row] as number),
    evidence: evidenceFor(evidence, givers[row] as number),
    isOfAnother: givers[row] !== row,
  }));
}

function evidenceFor(columns: EvidenceColumns, row: number): Evidence {
  const evidence: Partial<Evidence> = {};
  for (const name of EVIDENCE) evidence[name] = columns[name][row] as number;
  return evidence as Evidence;
}

/** The same by their ordinals. */
export function rankedOrdinals(signals: Signals, ranking: Ranking): Map<number, Ranked> {
  return new Map(rank(signals, ranking).map(({ row, ...ranked }) => [signals.ordinals[row] as number, ranked]));
}

function told(score: number): number {
  return Math.round(score * SCORE_STEPS) / SCORE_STEPS;
}
