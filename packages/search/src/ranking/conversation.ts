import { MARKS, NO_SPEAKER } from '../text/traits.ts';
import { type CosineScale, toUsualCosine } from './cosine-scale.ts';
import { NO_ROW, NO_SESSION, type Signals } from './signals.ts';
import { WEIGHTS } from './weights.ts';

/**
 * Returns 1 for each row that is part of a conversation, else 0. A row with a session is part of a conversation if most
 * rows of its session name a speaker, or if more than a quarter are questions; otherwise the session is a collection of
 * notes. A row without a session is part of a conversation if the row has a speaker, and most pool rows with a speaker
 * but no session are turns. Otherwise the text before a colon is probably a title, such as that of a paper. Semantic
 * memories with sources among the candidates are no part of a conversation, so that they do not change scores.
 *
 * @param distilled see `getDistilledRows`
 */
export function getConversationRows(signals: Signals, distilled: ReadonlySet<number>): Uint8Array {
  const { sessions, speakers } = signals;
  const hasTurns = isMostlyTurns(signals, distilled);
  const excess = countTurns(signals);
  const isInConversation = new Uint8Array(sessions.length);
  for (let row = 0; row < isInConversation.length; row += 1) {
    const session = sessions[row] as number;
    const isTurnOfSession = session !== NO_SESSION && (excess.get(session) as number) > 0;
    const isTurnAlone = session === NO_SESSION && hasTurns && speakers[row] !== NO_SPEAKER && !distilled.has(row);
    if (isTurnOfSession || isTurnAlone) isInConversation[row] = 1;
  }
  return isInConversation;
}

/** Weight of a question without a speaker among the rows of a session: questions show that speakers alternate. */
const QUESTION_WEIGHT = 3;

/**
 * Returns for each session a number above 0 if it is a conversation: its rows that name a speaker or ask a question,
 * less its other rows. Counts the rows of the pool, so that the tail does not change the scores of the pool, and of a
 * session without such rows all rows.
 */
function countTurns({ pool, sessions, speakers, marks }: Signals): Map<number, number> {
  const excess = new Map<number, number>();
  const count = (row: number) => {
    const session = sessions[row] as number;
    if (session === NO_SESSION) return;
    const isQuestion = ((marks[row] as number) & MARKS.question) !== 0;
    const weight = speakers[row] !== NO_SPEAKER ? 1 : isQuestion ? QUESTION_WEIGHT : -1;
    excess.set(session, (excess.get(session) ?? 0) + weight);
  };
  for (let row = 0; row < pool; row += 1) count(row);
  const ofPool = new Set(excess.keys());
  for (let row = pool; row < sessions.length; row += 1) if (!ofPool.has(sessions[row] as number)) count(row);
  return excess;
}

function isMostlyTurns(signals: Signals, distilled: ReadonlySet<number>): boolean {
  const { pool, sessions, speakers } = signals;
  let named = 0;
  let turns = 0;
  for (let row = 0; row < pool; row += 1) {
    if (sessions[row] !== NO_SESSION || speakers[row] === NO_SPEAKER || distilled.has(row)) continue;
    named += 1;
    if (isTurn(signals, row)) turns += 1;
  }
  return 2 * turns > named;
}

/** Whether a row is a turn: of the row and its two neighbors, two have the same speaker and one has another. */
function isTurn({ previous, next, speakers }: Signals, row: number): boolean {
  const [before, after] = [previous[row] as number, next[row] as number];
  if (before === NO_ROW || after === NO_ROW) return false;
  return new Set([speakers[before], speakers[row], speakers[after]]).size === 2;
}

/**
 * Converts the cosine between the query and the nearest part of a memory to a nearness from 0 to 1. NaN means an
 * unknown cosine, for which an average is returned.
 */
export function getMeaning(cosine: number): number {
  return Number.isNaN(cosine) ? WEIGHTS.unknownCosine : Math.min(1, Math.max(0, cosine));
}

/** Returns the nearness of a row to the query by vector, from 0 to 1; see `getMeaning`. */
export function getRowMeaning({ cosines }: Signals, row: number, scale: CosineScale | undefined): number {
  return getMeaning(toUsualCosine(cosines[row] as number, scale));
}

/** Returns how much nearer than usual the tokens of a memory are to those of the query; 0 if unknown (NaN). */
export function getTokens(nearness: number | undefined): number {
  return nearness === undefined || Number.isNaN(nearness) ? 0 : nearness - WEIGHTS.usualNearness;
}

/**
 * The matches of rows: `words` at r * wordCount + w (see `getWordMatches`), and `likenesses` by row, the weighted sum of
 * vector and token nearness.
 */
export interface Matches {
  wordCount: number;
  words: Float64Array;
  likenesses: Float64Array;
}

/** Returns the relevance of each row without its context: the sum of its word matches and its likeness. */
export function getRelevances({ wordCount, words, likenesses }: Matches): Float64Array {
  const own = new Float64Array(likenesses.length);
  for (let row = 0, at = 0; row < likenesses.length; row += 1) {
    let relevance = likenesses[row] as number;
    for (let word = 0; word < wordCount; word += 1, at += 1) relevance += words[at] as number;
    own[row] = relevance;
  }
  return own;
}

/**
 * The combined match of several memories: the best match of each word, and the best likeness, among the memories. An
 * answer in a conversation is often spread over several turns, none of which contains all words of the question.
 */
export class Passage {
  readonly #matches: Matches;
  readonly #words: Float64Array;
  readonly #start: number;
  #likeness = 0;

  /**
   * @param words holds the best matches from `start` on, all 0 at first; shared by passages, because creating an array
   *   takes longer than filling it
   */
  constructor(matches: Matches, words: Float64Array, start = 0) {
    this.#matches = matches;
    this.#words = words;
    this.#start = start;
  }

  add(row: number): void {
    const { wordCount, words, likenesses } = this.#matches;
    const best = this.#words;
    const end = (row + 1) * wordCount;
    for (let from = row * wordCount, at = this.#start; from < end; from += 1, at += 1) {
      if ((words[from] as number) > (best[at] as number)) best[at] = words[from] as number;
    }
    this.#likeness = Math.max(this.#likeness, likenesses[row] as number);
  }

  relevance(): number {
    let relevance = this.#likeness;
    const end = this.#start + this.#matches.wordCount;
    for (let at = this.#start; at < end; at += 1) relevance += this.#words[at] as number;
    return relevance;
  }

  /** Returns the relevance that the passage would have with one more row. */
  relevanceWith(row: number): number {
    const { wordCount, words, likenesses } = this.#matches;
    let relevance = Math.max(this.#likeness, likenesses[row] as number);
    for (let from = row * wordCount, at = this.#start; from < (row + 1) * wordCount; from += 1, at += 1) {
      relevance += Math.max(this.#words[at] as number, words[from] as number);
    }
    return relevance;
  }

  /** Removes all memories. */
  clear(): void {
    this.#words.fill(0, this.#start, this.#start + this.#matches.wordCount);
    this.#likeness = 0;
  }
}

/** Maximum distance, in turns, between a memory and the context that its passage includes. */
export const MAX_PASSAGE_DISTANCE = 4;

/**
 * Returns the relevance of a row together with surrounding rows: direct matches, which are rows before `found`, and the
 * direct neighbors of direct matches. All other surrounding rows are left out, since a few rows almost always contain
 * some word of a query.
 *
 * @param passage is cleared and reused, which saves an allocation per row
 */
export function getPassageRelevance(passage: Passage, signals: Signals, row: number): number {
  passage.clear();
  passage.add(row);
  addDirection(passage, signals, signals.previous, row);
  addDirection(passage, signals, signals.next, row);
  return passage.relevance();
}

function addDirection(passage: Passage, signals: Signals, step: Int32Array, row: number): void {
  let at = step[row] as number;
  for (let distance = 1; distance <= MAX_PASSAGE_DISTANCE && at !== NO_ROW; distance += 1) {
    if (isFoundOrNeighbor(signals, at)) passage.add(at);
    at = step[at] as number;
  }
}

function isFoundOrNeighbor(signals: Signals, row: number): boolean {
  return isFound(signals, row) || isFound(signals, signals.previous[row]) || isFound(signals, signals.next[row]);
}

function isFound({ found }: Signals, row = NO_ROW): boolean {
  return row !== NO_ROW && row < found;
}

/**
 * Returns the combined match of the pool rows of each conversation, by session number. Sessions that only the tail
 * contains are left out.
 */
export function getSessionPassages(
  matches: Matches,
  { pool, sessions }: Signals,
  isInConversation: Uint8Array,
): Map<number, Passage> {
  const passages = new Map<number, Passage>();
  const words = new Float64Array(pool * matches.wordCount);
  for (let row = 0; row < pool; row += 1) {
    const session = sessions[row] as number;
    if (session === NO_SESSION || !isInConversation[row]) continue;
    let passage = passages.get(session);
    if (!passage) passages.set(session, (passage = new Passage(matches, words, row * matches.wordCount)));
    passage.add(row);
  }
  return passages;
}

/** Rows of conversations at which half of the expected context is taken from them. */
const RELIABLE_ROWS = 10;

/** Relevance is summed in whole millionths, whose sums and products are exact in any order of the rows. */
const STEPS = 1e6;

/**
 * Returns a function from a memory's own relevance to the relevance of its context that is expected of a pool row in a
 * conversation, by linear regression. A conversation gives a memory the best of several memories as its context, and a
 * memory outside conversations only its own relevance; without this expectation, the latter would rank too low in a pool
 * of both. The fewer rows in conversations, the closer to the memory's own relevance.
 */
export function getExpectedContext(
  own: Float64Array,
  context: Float64Array,
  isInConversation: Uint8Array,
  pool: number,
): (relevance: number) => number {
  let [rows, sumX, sumY, sumXX, sumXY] = [0, 0, 0, 0, 0];
  for (let row = 0; row < pool; row += 1) {
    if (!isInConversation[row]) continue;
    const [x, y] = [Math.round(STEPS * (own[row] as number)), Math.round(STEPS * (context[row] as number))];
    rows += 1;
    sumX += x;
    sumY += y;
    sumXX += x * x;
    sumXY += x * y;
  }
  if (rows === 0) return (relevance) => relevance;
  const [meanX, meanY] = [sumX / rows, sumY / rows];
  const spread = sumXX - sumX * meanX;
  const slope = spread > 0 ? (sumXY - sumX * meanY) / spread : 1;
  const share = rows / (rows + RELIABLE_ROWS);
  return (relevance) => relevance + share * (meanY / STEPS + slope * (relevance - meanX / STEPS) - relevance);
}
