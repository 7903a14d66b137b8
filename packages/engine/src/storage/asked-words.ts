import { synonymsOf, type WordSynonym } from '../core/ranking/synonyms.ts';
import { type ReadQuery, readQuery } from '../core/text/query-words.ts';
import { english } from '../synonyms/english.ts';

/** Most words of a query that are looked up, and most that take part; of more, the rarest that any memory holds. */
const MOST_ASKED = 512;
const MOST_WORDS = 64;

/** What a query says; of its words, each any of some terms, some may have to be left out. See `rarestWords`. */
export function askedWords(text: string): ReadQuery {
  const { words, isForeign } = readQuery(text);
  return { words: words.slice(0, MOST_ASKED), isForeign };
}

/** The synonyms of the words that take part. Words of another language only look like English ones, and have none. */
export function synonymsAmong(words: readonly string[][], { isForeign }: ReadQuery): WordSynonym[] {
  return isForeign ? [] : synonymsOf(english, words);
}

export function areTooMany(words: readonly string[][]): boolean {
  return words.length > MOST_WORDS;
}

/** The rarest of words, as many as take part, by how many memories hold each; those that none holds behind all others. */
export function rarestWords(words: readonly string[][], frequencies: readonly number[]): string[][] {
  return words
    .map((word, i) => ({ word, frequency: frequencies[i] as number }))
    .sort((a, b) => Number(a.frequency === 0) - Number(b.frequency === 0) || a.frequency - b.frequency)
    .slice(0, MOST_WORDS)
    .map(({ word }) => word);
}
