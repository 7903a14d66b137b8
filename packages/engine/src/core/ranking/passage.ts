import type { Signals } from '../../ports/storage.ts';
import { WEIGHTS } from './weights.ts';

const NONE = -1;

/** How well rows match: `words` at r * wordCount + w, `meanings` by row; see `wordMatches` and `meaningOf`. */
export interface Matches {
  wordCount: number;
  words: Float64Array;
  meanings: Float64Array;
}

/** How relevant a row is by itself: its words and, by its weight, its meaning. */
export function relevanceOf({ wordCount, words, meanings }: Matches, row: number): number {
  let relevance = WEIGHTS.evidence.meaning * (meanings[row] as number);
  for (let at = row * wordCount; at < (row + 1) * wordCount; at += 1) relevance += words[at] as number;
  return relevance;
}

/**
 * What memories say together: each word counts as the one of them matches that matches it best, and so does the meaning.
 * An answer in a conversation is often told over several turns, none of which holds all that was asked.
 */
export class Passage {
  readonly #matches: Matches;
  readonly #words: Float64Array;
  #meaning = 0;

  constructor(matches: Matches) {
    this.#matches = matches;
    this.#words = new Float64Array(matches.wordCount);
  }

  add(row: number): void {
    const { wordCount, words, meanings } = this.#matches;
    for (let word = 0, at = row * wordCount; word < wordCount; word += 1, at += 1) {
      this.#words[word] = Math.max(this.#words[word] as number, words[at] as number);
    }
    this.#meaning = Math.max(this.#meaning, meanings[row] as number);
  }

  /** Its relevance, with one more row or as it is. */
  relevance(row = NONE): number {
    const { wordCount, words, meanings } = this.#matches;
    if (row === NONE) return this.#words.reduce((sum, match) => sum + match, WEIGHTS.evidence.meaning * this.#meaning);
    let relevance = WEIGHTS.evidence.meaning * Math.max(this.#meaning, meanings[row] as number);
    for (let word = 0, at = row * wordCount; word < wordCount; word += 1, at += 1) {
      relevance += Math.max(this.#words[word] as number, words[at] as number);
    }
    return relevance;
  }
}

/** How far from a memory, in its session, what stands around it may be told. */
const PASSAGE_DISTANCE = 4;

/**
 * A row with those around it that were found, or stand beside one that was: what a search has passed over is left out,
 * since over so many rows some word of a query always matches.
 */
export function passageAround(matches: Matches, signals: Signals, row: number): Passage {
  const passage = new Passage(matches);
  passage.add(row);
  for (const step of [signals.previous, signals.next]) {
    let at = step[row] as number;
    for (let distance = 1; distance <= PASSAGE_DISTANCE && at !== NONE; distance += 1) {
      if (isFoundOrBeside(signals, at)) passage.add(at);
      at = step[at] as number;
    }
  }
  return passage;
}

function isFoundOrBeside({ found, previous, next }: Signals, row: number): boolean {
  const isFound = (other: number) => other !== NONE && other < found;
  return isFound(row) || isFound(previous[row] as number) || isFound(next[row] as number);
}

/** The rows of each session that are in the pool, by the session's number; nothing of sessions that only the tail has. */
export function pooledSessions(matches: Matches, { pool, sessions }: Signals): Map<number, Passage> {
  const passages = new Map<number, Passage>();
  for (let row = 0; row < pool; row += 1) {
    const session = sessions[row] as number;
    if (session === NONE) continue;
    let passage = passages.get(session);
    if (!passage) passages.set(session, (passage = new Passage(matches)));
    passage.add(row);
  }
  return passages;
}
