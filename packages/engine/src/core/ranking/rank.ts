import type { Signals } from '../../ports/storage.ts';
import { type Evidence, evidenceOf } from './evidence.ts';
import type { Question } from './question.ts';
import { scoreOf } from './score.ts';
import { placeBelowSources } from './sources.ts';
import { standingBy } from './standing.ts';
import { placeBelowSuccessors } from './supersede.ts';

/** How many of the best to answer, the score from 0 to 1 that they need, and what ranking knows of the query. */
export interface RankOptions {
  limit: number;
  minScore?: number | undefined;
  question?: Question | undefined;
}

/** Scores are told to a hundred-thousandth, and held against the one that is needed as told. */
const SCORE_STEPS = 100_000;

/** A row of the signals. */
export interface RankedRow {
  row: number;
  /** From 0 to 1, to a hundred-thousandth: that of the evidence. */
  score: number;
  /** Its own or, where it corrects a better match, is corrected by a worse one or was distilled from one, that one's. */
  evidence: Evidence;
  isOfAnother: boolean;
}

/**
 * The admitted rows, best first; a row stands below the memory that supersedes it and below the sources that it was
 * distilled from, and of equal scores the newer goes first. Scores rest on the pool alone, never on the limit.
 */
export function rank(signals: Signals, { limit, minScore = 0, question }: RankOptions): RankedRow[] {
  const evidence = evidenceOf(signals, question);
  const standing = standingBy(evidence.map(scoreOf));
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
    evidence: evidence[givers[row] as number] as Evidence,
    isOfAnother: givers[row] !== row,
  }));
}

function told(score: number): number {
  return Math.round(score * SCORE_STEPS) / SCORE_STEPS;
}
