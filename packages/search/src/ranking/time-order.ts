import { MARKS } from '../text/traits.ts';
import { getWordShares } from './bm25.ts';
import { getConversationRows, getRowMeaning } from './conversation.ts';
import { getIndistinct, hasMark, isStatement } from './evidence.ts';
import type { Ranking } from './ranking.ts';
import { copyScore, getDistilledRows, type ScoreOrder } from './scores.ts';
import { hasNamesOfOther, NO_SESSION, type Signals } from './signals.ts';
import { WEIGHTS } from './weights.ts';

/**
 * Sorts the first two rows by time, if both are notes that fit the query and speak of the same thing: the later one
 * first, or the earlier one if the query asks for what was before. A note that holds comes before one that does not. The
 * row that moves up gets the score of the other. A question about the past without such a word keeps the order.
 *
 * Two notes speak of the same thing as far as both are near to the query and contain the same words of it. The nearer,
 * the greater the difference of their scores may be; more so if the query asks for what holds now, if only the later one
 * holds, or if its text tells a change. Rows of the tail do not move, so that the order does not depend on the limit.
 *
 * @param rows all candidate rows, best first; sorted in place
 */
export function placeByTime(order: ScoreOrder, rows: number[], signals: Signals, ranking: Ranking): void {
  const [first, second] = rows;
  if (first === undefined || second === undefined || !mustSwap(order, { first, second }, signals, ranking)) return;
  copyScore(order, second, first);
  [rows[0], rows[1]] = [second, first];
}

/** The best row, and the row after it. */
interface Pair {
  first: number;
  second: number;
}

function mustSwap(order: ScoreOrder, pair: Pair, signals: Signals, ranking: Ranking): boolean {
  const { first, second } = pair;
  const { asksForBefore = false, asksForNow = false, looksBack } = ranking.intent ?? {};
  if (looksBack && !asksForBefore && !asksForNow) return false;
  const lateness = getLateness(signals, pair);
  if (signals.supersededBy[second] === first) return asksForBefore && lateness < 0 && isComparable(signals, pair);
  const onlySecondHolds = !asksForBefore && isHolding(signals, second) && !isHolding(signals, first);
  const isLater = lateness > 0 && isHolding(signals, second);
  if (asksForBefore ? lateness >= 0 : !onlySecondHolds && !isLater) return false;
  const isStressed = asksForBefore || asksForNow || onlySecondHolds || hasMark(signals, second, MARKS.change);
  const { slope, usual, stressed } = WEIGHTS.timeOrder;
  const allowed = slope * (getSameness(signals, pair, ranking) - usual) * (isStressed ? stressed : 1);
  const difference = getLogit(order, first) - getLogit(order, second);
  return difference <= allowed && isComparable(signals, pair);
}

/** Returns by how many ms the second row begins to hold later than the first one; 0 for notes of the same hour. */
function getLateness({ begins }: Signals, { first, second }: Pair): number {
  const lateness = (begins[second] as number) - (begins[first] as number);
  return Math.abs(lateness) < WEIGHTS.timeOrder.minDistanceMs ? 0 : lateness;
}

function isHolding({ begins, ends, now }: Signals, row: number): boolean {
  return (begins[row] as number) <= now && now < (ends[row] as number);
}

/**
 * Returns true for two notes of different sessions, none of them a question, a summary or of the tail, of which the second
 * one has all names of the query that the first one has.
 */
function isComparable(signals: Signals, { first, second }: Pair): boolean {
  const { pool, sessions } = signals;
  if (first >= pool || second >= pool || !isStatement(signals, second)) return false;
  if (sessions[first] !== NO_SESSION && sessions[first] === sessions[second]) return false;
  if (!hasNamesOfOther(signals, second, first)) return false;
  const distilled = getDistilledRows(signals);
  if (distilled.has(first) || distilled.has(second)) return false;
  const isInConversation = getConversationRows(signals, distilled);
  return !isInConversation[first] || !isInConversation[second];
}

/** Returns from 0 to 1.5 how far two notes speak of the same thing: see `placeByTime`. */
function getSameness(signals: Signals, pair: Pair, { scale }: Ranking): number {
  const one = getRowMeaning(signals, pair.first, scale);
  const other = getRowMeaning(signals, pair.second, scale);
  return Math.min(one, other) + WEIGHTS.timeOrder.words * getCommonShare(signals, pair);
}

/** Returns the share of the query's words that both rows contain, by themselves or by a synonym, from 0 to 1. */
function getCommonShare(signals: Signals, { first, second }: Pair): number {
  const shares = getWordShares(signals);
  const isIndistinct = getIndistinct(signals);
  let [common, total] = [0, 0];
  for (const [word, share] of shares.entries()) {
    if (isIndistinct[word]) continue;
    total += share;
    if (contains(signals, first, word) && contains(signals, second, word)) common += share;
  }
  return total === 0 ? 0 : common / total;
}

function contains(signals: Signals, row: number, word: number): boolean {
  const { documentFrequencies, frequencies, synonyms, synonymFrequencies } = signals;
  if ((frequencies[row * documentFrequencies.length + word] as number) > 0) return true;
  return synonyms.some(
    (synonym, i) => synonym.word === word && (synonymFrequencies[row * synonyms.length + i] as number) > 0,
  );
}

/** Returns the logarithm of the odds of a row's score. */
function getLogit({ scores }: ScoreOrder, row: number): number {
  const score = scores[row] as number;
  return Math.log(score / (1 - score));
}
