import { NO_ROW, NO_SESSION, NO_SPEAKER, type Signals } from '../../ports/storage-search.ts';
import { WEIGHTS } from './weights.ts';

/**
 * For each row, 1 where it is said in a conversation: in a session, or, of what was given none, by somebody who is named,
 * where most of that in the pool are turns. Elsewhere a name before a colon is a title, such as that of a paper.
 */
export function saidInConversation(signals: Signals): Uint8Array {
  const { sessions, speakers } = signals;
  const isTalk = isMostlyTurns(signals);
  const isSaid = new Uint8Array(sessions.length);
  for (let row = 0; row < isSaid.length; row += 1) {
    if (sessions[row] !== NO_SESSION || (isTalk && speakers[row] !== NO_SPEAKER)) isSaid[row] = 1;
  }
  return isSaid;
}

function isMostlyTurns(signals: Signals): boolean {
  const { pool, sessions, speakers } = signals;
  let named = 0;
  let turns = 0;
  for (let row = 0; row < pool; row += 1) {
    if (sessions[row] !== NO_SESSION || speakers[row] === NO_SPEAKER) continue;
    named += 1;
    if (isTurn(signals, row)) turns += 1;
  }
  return 2 * turns > named;
}

/** Of a turn and those beside it, two are by the same speaker and one by another. */
function isTurn({ previous, next, speakers }: Signals, row: number): boolean {
  const [before, after] = [previous[row] as number, next[row] as number];
  if (before === NO_ROW || after === NO_ROW) return false;
  return new Set([speakers[before], speakers[row], speakers[after]]).size === 2;
}

/** How near a memory is to the query by meaning, from 0 to 1, by the cosine of its nearest part; NaN is not known. */
export function getMeaning(cosine: number): number {
  return Number.isNaN(cosine) ? WEIGHTS.unknownCosine : Math.min(1, Math.max(0, cosine));
}

/**
 * How much nearer the tokens of a memory are to those of the query than is usual, which is 0 where that is not known (NaN).
 */
export function getTokens(nearness: number | undefined): number {
  return nearness === undefined || Number.isNaN(nearness) ? 0 : nearness - WEIGHTS.usualNearness;
}

/**
 * How well rows match: `words` at r * wordCount + w (see `wordMatches`); `likenesses` by row: its meaning and its tokens, each by
 * its weight.
 */
export interface Matches {
  wordCount: number;
  words: Float64Array;
  likenesses: Float64Array;
}

/** How relevant each row is by itself: its words, its meaning and its tokens. */
export function relevances({ wordCount, words, likenesses }: Matches): Float64Array {
  const own = new Float64Array(likenesses.length);
  for (let row = 0, at = 0; row < likenesses.length; row += 1) {
    let relevance = likenesses[row] as number;
    for (let word = 0; word < wordCount; word += 1, at += 1) relevance += words[at] as number;
    own[row] = relevance;
  }
  return own;
}

/**
 * What memories say together: each word counts as the one of them matches that matches it best, and so does the likeness.
 * An answer in a conversation is often told over several turns, none of which holds all that was asked.
 */
export class Passage {
  readonly #matches: Matches;
  readonly #words: Float64Array;
  #likeness = 0;

  constructor(matches: Matches) {
    this.#matches = matches;
    this.#words = new Float64Array(matches.wordCount);
  }

  add(row: number): void {
    const { wordCount, words, likenesses } = this.#matches;
    for (let word = 0, at = row * wordCount; word < wordCount; word += 1, at += 1) {
      this.#words[word] = Math.max(this.#words[word] as number, words[at] as number);
    }
    this.#likeness = Math.max(this.#likeness, likenesses[row] as number);
  }

  /** Its relevance. */
  relevance(): number {
    let relevance = this.#likeness;
    for (const match of this.#words) relevance += match;
    return relevance;
  }

  /** Its relevance, were a row added to it. */
  relevanceWith(row: number): number {
    const { wordCount, words, likenesses } = this.#matches;
    let relevance = Math.max(this.#likeness, likenesses[row] as number);
    for (let word = 0, at = row * wordCount; word < wordCount; word += 1, at += 1) {
      relevance += Math.max(this.#words[word] as number, words[at] as number);
    }
    return relevance;
  }

  /** Leaves it without memories. */
  clear(): void {
    this.#words.fill(0);
    this.#likeness = 0;
  }
}

/** How far from a memory, in its session, what stands around it may be told. */
export const PASSAGE_DISTANCE = 4;

/**
 * How relevant a row is together with those around it that were found, or stand beside one that was: what a search has
 * passed over is left out, since over so many rows some word of a query always matches.
 *
 * @param passage becomes theirs, whatever it was before, so that many rows in turn need only one
 */
export function relevanceAround(passage: Passage, signals: Signals, row: number): number {
  passage.clear();
  passage.add(row);
  addAlong(passage, signals, signals.previous, row);
  addAlong(passage, signals, signals.next, row);
  return passage.relevance();
}

function addAlong(passage: Passage, signals: Signals, step: Int32Array, row: number): void {
  let at = step[row] as number;
  for (let distance = 1; distance <= PASSAGE_DISTANCE && at !== NO_ROW; distance += 1) {
    if (isFoundOrBeside(signals, at)) passage.add(at);
    at = step[at] as number;
  }
}

function isFoundOrBeside(signals: Signals, row: number): boolean {
  return isFound(signals, row) || isFound(signals, signals.previous[row]) || isFound(signals, signals.next[row]);
}

function isFound({ found }: Signals, row = NO_ROW): boolean {
  return row !== NO_ROW && row < found;
}

/** The rows of each session that are in the pool, by the session's number; nothing of sessions that only the tail has. */
export function pooledSessions(matches: Matches, { pool, sessions }: Signals): Map<number, Passage> {
  const passages = new Map<number, Passage>();
  for (let row = 0; row < pool; row += 1) {
    const session = sessions[row] as number;
    if (session === NO_SESSION) continue;
    let passage = passages.get(session);
    if (!passage) passages.set(session, (passage = new Passage(matches)));
    passage.add(row);
  }
  return passages;
}
