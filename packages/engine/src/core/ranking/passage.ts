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

  /** Adds a row, if there is one. */
  add(row: number): void {
    if (row === NONE) return;
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

/** A row with two on each side. */
export function passageAround(matches: Matches, { previous, next }: Signals, row: number): Passage {
  const passage = new Passage(matches);
  const before = previous[row] as number;
  const after = next[row] as number;
  passage.add(row);
  passage.add(before);
  passage.add(after);
  passage.add(before === NONE ? NONE : (previous[before] as number));
  passage.add(after === NONE ? NONE : (next[after] as number));
  return passage;
}

/** The rows of each session that are in the pool, by the session's number. */
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
