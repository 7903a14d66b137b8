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
import { WEIGHTS } from '../ranking/weights.ts';
import { english } from '../synonyms/table.ts';
import { readQuery } from '../text/analyze.ts';
import { getParts } from '../text/parts.ts';
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
  /** Returns the counts of more words than a search can have. */
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
  const whole = all.length <= MAX_WORDS ? all : getRarest(all, await counter.countAll(toDigests(all)));
  // The table of synonyms is English.
  const synonyms = query.isForeign ? [] : getSynonyms(english, whole);
  const digests = toDigests(whole);
  const counts = await counter.count({ words: digests, synonyms: toDigests(synonyms.map(({ term }) => [term])) });
  const parts = await findParts(
    whole.map(([term = '']) => query.folded.get(term) ?? term),
    new Set(whole.flat()),
    (terms) => counter.countAll(toDigests(terms)),
  );
  const words = [...whole, ...parts.words];
  const kinds = getWordKinds({ text, date, words, isForeign: query.isForeign }, english);
  kinds.everyday.fill(WEIGHTS.everyday.part, whole.length);
  const weighing = {
    memoryCount: counter.memoryCount,
    documentFrequencies: [
      ...counts.words,
      ...parts.documentFrequencies.map((count) => Math.min(count, counter.memoryCount)),
    ],
    everyday: kinds.everyday,
  };
  const shares = getWordShares(weighing);
  return {
    words: parts.words.length > 0 ? toDigests(words) : digests,
    documentFrequencies: weighing.documentFrequencies,
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

/** Maximum words of parts that are searched. */
const MAX_PARTS = 32;

/** Maximum alternative terms of a word of parts: the closest to the query's word. */
const MAX_PART_ALTERNATIVES = 8;

/**
 * Returns the parts of words, at most `MAX_PARTS`. Each part is a list of alternative terms that memories contain, the
 * closest to the word first. No term is in `known` or in two parts. Words that memories contain have parts too: the
 * memories of one user must not decide what another finds.
 *
 * @param words folded words
 * @param count returns the number of memories that contain each word
 */
async function findParts(
  words: readonly string[],
  known: Set<string>,
  count: (words: string[][]) => number[] | Promise<number[]>,
): Promise<{ words: string[][]; documentFrequencies: number[] }> {
  const candidates = words
    .flatMap(getParts)
    .map((part) => part.filter((term) => !known.has(term) && known.add(term)))
    .filter((part) => part.length > 0)
    .slice(0, MAX_PARTS);
  // The closest terms of each part are looked up first.
  const terms = candidates
    .flatMap((part, index) => part.map((term, place) => ({ term, place, index })))
    .sort((a, b) => a.place - b.place)
    .slice(0, MAX_LOOKED_UP);
  const counts = terms.length > 0 ? await count(terms.map(({ term }) => [term])) : [];
  const held = terms.map((term, i) => ({ ...term, count: counts[i] as number })).filter(({ count }) => count > 0);
  const parts = candidates
    .map((_, part) => held.filter(({ index }) => index === part).slice(0, MAX_PART_ALTERNATIVES))
    .filter((alternatives) => alternatives.length > 0);
  return {
    words: parts.map((alternatives) => alternatives.map(({ term }) => term)),
    // An upper bound, since a memory may contain several of the terms.
    documentFrequencies: parts.map((alternatives) => alternatives.reduce((sum, { count }) => sum + count, 0)),
  };
}
