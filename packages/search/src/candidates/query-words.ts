import type { Digest } from '../index/entry.ts';
import { getWordShares } from '../ranking/bm25.ts';
import {
  type CreatedMatch,
  getDateMatches,
  getSpeakerTerms,
  getSynonyms,
  getWordKinds,
  weighed,
  withoutAsides,
} from '../ranking/query-terms.ts';
import type { QueryWordKinds } from '../ranking/signals.ts';
import { english } from '../synonyms/table.ts';
import { readQuery } from '../text/analyze.ts';
import { termDigest } from './digests.ts';
import type { SearchRequest } from './search.ts';

/** One value per word and per synonym that a search looks up. */
interface OfWords<Value> {
  words: Value[];
  synonyms: Value[];
}

/**
 * Counts the memories that contain a word. A word is a list of alternative terms; a memory contains the word if it
 * contains one of them. Semantic memories do not count, because their content is that of their sources.
 */
export interface WordCounter {
  /** Number of memories that recall searches in the namespace. */
  readonly memoryCount: number;
  /** Returns the counts of the words that are searched. The counts of synonyms may be rougher estimates. */
  count(searched: OfWords<Digest[]>): OfWords<number> | Promise<OfWords<number>>;
  /** Returns the counts of all words of a query that has too many to search. */
  countAll(words: Digest[][]): number[] | Promise<number[]>;
}

/** The words of a query that a search uses. */
export interface SelectedWords {
  words: Digest[][];
  /** For each word, the number of memories that contain it. */
  documentFrequencies: number[];
  /** Weight of each word. */
  shares: Float64Array;
  /** Matches of a memory by the date that the query names, in the unit of `shares`; a memory gets each that applies. */
  dateMatches: CreatedMatch[];
  /** Synonyms that occur in memories. `word` is the index of the query word. */
  synonyms: { word: number; weight: number; term: Digest }[];
  /** For each word, the terms of a speaker's name that it matches. */
  speakers: string[][];
  kinds: QueryWordKinds;
}

/** Maximum query words whose frequencies are looked up. */
const MAX_LOOKED_UP = 512;

/** Maximum query words that are searched: the rarest words. */
const MAX_WORDS = 64;

/** Selects the words of a query, and looks up how many memories contain them. */
export async function selectQueryWords(
  counter: WordCounter,
  { namespace, text, date }: Pick<SearchRequest, 'namespace' | 'text' | 'date'>,
): Promise<SelectedWords> {
  const digest = (term: string) => termDigest(namespace, term);
  const toDigests = (words: readonly string[][]) => words.map((terms) => terms.map(digest));
  const query = readQuery(withoutAsides(text));
  const all = query.words.slice(0, MAX_LOOKED_UP);
  const words = all.length <= MAX_WORDS ? all : getRarest(all, await counter.countAll(toDigests(all)));
  // The table of synonyms is English.
  const synonyms = query.isForeign ? [] : getSynonyms(english, words);
  const digests = toDigests(words);
  const counts = await counter.count({ words: digests, synonyms: toDigests(synonyms.map(({ term }) => [term])) });
  const kinds = getWordKinds({ text, date, words, isForeign: query.isForeign }, english);
  const weighing = {
    memoryCount: counter.memoryCount,
    documentFrequencies: counts.words,
    everyday: kinds.everyday,
  };
  const shares = getWordShares(weighing);
  return {
    words: digests,
    documentFrequencies: counts.words,
    shares,
    dateMatches: getDateMatches(date, shares, kinds.dated),
    synonyms: weighed(synonyms, counts.synonyms, weighing).map((synonym) => ({
      ...synonym,
      term: digest(synonym.term),
    })),
    speakers: getSpeakerTerms(text, words),
    kinds,
  };
}

/** Returns the rarest words, at most `MAX_WORDS`. Words that occur in no memory come last. */
function getRarest(words: readonly string[][], frequencies: readonly number[]): string[][] {
  return words
    .map((word, i) => ({ word, frequency: frequencies[i] as number }))
    .sort((a, b) => Number(a.frequency === 0) - Number(b.frequency === 0) || a.frequency - b.frequency)
    .slice(0, MAX_WORDS)
    .map(({ word }) => word);
}
