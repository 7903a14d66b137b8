import { MARKS } from '../text/traits.ts';
import { getConversationRows, getRowMeaning } from './conversation.ts';
import { getIndistinct, hasMark, isStatement } from './evidence.ts';
import type { Ranking } from './ranking.ts';
import { copyScore, getDistilledRows, type ScoreOrder } from './scores.ts';
import { containsWord, hasNamesOfOther, type Signals } from './signals.ts';
import { WEIGHTS } from './weights.ts';

/**
 * Moves some of the next rows to the first places, with the score of the first row, if they are statements that fit
 * better:
 * - The query asks about the user, and the first row is about a person of the user, but the others are about the user.
 *   For notes only: in a conversation, "I" may be anybody.
 * - The first row contains a single everyday word of the query. The others do not contain the word, but are nearer to the
 *   query by vector and tokens together, and not much farther by either.
 *
 * Rows of the tail do not move, so that the order does not depend on the limit. Nor do rows that must rank below others,
 * such as their successors.
 *
 * @param rows all candidate rows, best first; changed in place
 * @returns the number of rows that moved
 */
export function placeStatementsFirst(order: ScoreOrder, rows: number[], signals: Signals, ranking: Ranking): number {
  const [first] = rows;
  if (first === undefined || first >= signals.pool) return 0;
  const tests = [getAboutUserTest(signals, ranking, first), getNearerTest(signals, ranking, first)];
  if (tests.every((test) => test === undefined)) return 0;
  const distilled = getDistilledRows(signals);
  if (distilled.has(first)) return 0;
  const next = rows.slice(1, WEIGHTS.firstPlace.rows);
  const others = next.filter(
    (row) => row < signals.pool && order.above[row] === 0 && !distilled.has(row) && isStatement(signals, row),
  );
  const better = tests.map((test) => (test ? others.filter(test) : [])).find(({ length }) => length > 0) ?? [];
  for (const row of better) copyScore(order, row, first);
  rows.splice(0, next.length + 1, ...better, first, ...next.filter((row) => !better.includes(row)));
  return better.length;
}

type RowTest = (row: number) => boolean;

/**
 * Returns a test for rows about the user; undefined unless the query asks about the user and the first row is about a
 * person of the user.
 */
function getAboutUserTest(signals: Signals, ranking: Ranking, first: number): RowTest | undefined {
  const { asksAboutUser, asksAdvice } = ranking.intent ?? {};
  if (!asksAboutUser || asksAdvice || !hasMark(signals, first, MARKS.aboutPerson)) return undefined;
  const isInConversation = getConversationRows(signals, getDistilledRows(signals));
  if (isInConversation[first]) return undefined;
  const minMeaning = getRowMeaning(signals, first, ranking.scale) - WEIGHTS.firstPlace.maxLossOfUser;
  return (row) =>
    hasMark(signals, row, MARKS.aboutUser) &&
    !isInConversation[row] &&
    getRowMeaning(signals, row, ranking.scale) >= minMeaning &&
    hasNamesOfOther(signals, row, first);
}

/**
 * Returns a test for nearer rows; undefined unless the first row contains a single everyday word of the query. No row is
 * nearer than a row whose token nearness is unknown.
 */
function getNearerTest(signals: Signals, ranking: Ranking, first: number): RowTest | undefined {
  const word = getOnlyWord(signals, first);
  if (word === undefined) return undefined;
  const { minGain, maxLoss } = WEIGHTS.firstPlace;
  const [meaning, tokens] = [getRowMeaning(signals, first, ranking.scale), signals.nearnesses[first] as number];
  return (row) => {
    const gainOfMeaning = getRowMeaning(signals, row, ranking.scale) - meaning;
    const gainOfTokens = (signals.nearnesses[row] as number) - tokens;
    if (containsWord(signals, row, word) || Math.min(gainOfMeaning, gainOfTokens) < -maxLoss) return false;
    return gainOfMeaning + gainOfTokens >= minGain;
  };
}

/** Returns the only distinguishing word of the query that a row contains; undefined if there are several or it is a name. */
function getOnlyWord(signals: Signals, row: number): number | undefined {
  const isIndistinct = getIndistinct(signals);
  const contained = [...signals.documentFrequencies.keys()].filter(
    (word) => !isIndistinct[word] && containsWord(signals, row, word),
  );
  const [word] = contained;
  return word === undefined || contained.length > 1 || signals.named[word] === 1 ? undefined : word;
}
