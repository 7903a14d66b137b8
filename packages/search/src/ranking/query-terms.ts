import { queryWords } from '../text/analyze.ts';
import { type QueryWords, wordWeights } from './bm25.ts';
import type { QueryPeriod } from './ranking.ts';
import type { QueryWordKinds } from './signals.ts';
import { WEIGHTS } from './weights.ts';

/** Speaker names of assistants in stored chats. In a question about a conversation, "you" refers to the assistant. */
const ASSISTANTS = ['assistant', 'ai'];

const YOU = new Set(getTermsOfEach(['you', 'your', 'yours']));
const PERSONS = new Set(getTermsOfEach(['i', 'my', 'me', 'you', 'your']));
const USER = getTerms('user');
const NAMES = getTermsOfEach(ASSISTANTS);

/** Matches "you", except in a polite request such as "could you", which does not ask about the assistant. */
const ADDRESSES = /(?<!\b(?:can|could|will|would)\s{1,4})\byou(?:rs?)?\b/i;

/**
 * Returns, for each query word, the terms that match a speaker's name: the alternative terms of the word and, for "you"
 * in a question about the conversation, the names of assistants. English only.
 */
export function getSpeakerTerms(query: string, words: readonly string[][]): string[][] {
  if (!ADDRESSES.test(query)) return [...words];
  return words.map((terms) => (YOU.has(terms[0] as string) ? [...terms, ...NAMES] : terms));
}

/**
 * Parts of an English question that say nothing about the answer, although their words may occur in many memories
 * ("stop structures", Callan, Croft and Broglio 1995, "TREC and TIPSTER experiments with INQUERY").
 */
const ASIDES =
  /\bfor a living\b|(?<=\b(?:should|shall|can|could|may|might|must|would) (?:i|we|you|they|he|she) )(?:ask|call|choose|contact|do|get|go|pick|see|take|try|use)\b(?=\W*$)/gi;

/** Returns a query without its asides, or the unchanged query if nothing else is left. */
export function withoutAsides(query: string): string {
  const rest = query.replace(ASIDES, ' ');
  return rest !== query && queryWords(rest).length > 0 ? rest : query;
}

const THE_USER = /\bthe user\b/i;

/**
 * Returns the terms that refer to persons. Includes "the user" if the query has these words: all notes about the user
 * of an agent contain these words, so the words do not distinguish memories.
 */
function getPersons(query: string): ReadonlySet<string> {
  return THE_USER.test(query) ? new Set([...PERSONS, ...USER]) : PERSONS;
}

/** Returns the first term of each word of a text, as in the index. */
function getTerms(text: string): string[] {
  return queryWords(text).flatMap(([term]) => term ?? []);
}

/** Analyzes each word separately, so that words such as "yours" are included. */
function getTermsOfEach(words: readonly string[]): string[] {
  return words.flatMap(getTerms);
}

/** Matches a word. A word is a name if it has a digit, or starts with a capital letter within a sentence. */
const NAME = /[\p{L}\p{N}]+(?:[-_.:/#][\p{L}\p{N}]+)*/gu;
const SENTENCE_END = /(?:^|[.!?:]\s)[\s\p{P}]*$/u;

/** Returns the index terms of the names, numbers and other identifiers of a query. */
function getNames(query: string, areCapitalsNames: boolean): Set<string> {
  const names = [...query.matchAll(NAME)].filter(({ 0: word, index }) => {
    if (/\p{N}/u.test(word)) return true;
    return areCapitalsNames && /^\p{Lu}/u.test(word) && !SENTENCE_END.test(query.slice(0, index));
  });
  return new Set(names.flatMap(([name]) => getTerms(name)));
}

/** A query with its words. `isForeign` is true for a language other than English. */
interface AnalyzedQuery {
  text: string;
  words: readonly string[][];
  isForeign: boolean;
  date?: QueryPeriod | undefined;
}

/** Classifies the words of a query; the rules are for English. */
export function getWordKinds({ text, words, isForeign, date }: AnalyzedQuery, thesaurus: Thesaurus): QueryWordKinds {
  const persons = getPersons(text);
  const dateTerms = new Set(date && getTerms(date.text));
  // In other languages, nouns may start with capitals too. In a text without lower-case letters, capitals do not
  // indicate names.
  const names = getNames(text, !isForeign && /\p{Ll}/u.test(text));
  const mark = (isMarked: (term: string) => boolean) =>
    Uint8Array.from(words, ([term]) => (isMarked(term as string) ? 1 : 0));
  return {
    persons: mark((term) => persons.has(term)),
    dated: mark((term) => dateTerms.has(term)),
    named: mark((term) => names.has(term) && !persons.has(term) && !dateTerms.has(term)),
    everyday: Float64Array.from(words, ([term]) => {
      if (isForeign) return 0;
      return getEverydayShare(persons.has(term as string) ? 0 : thesaurus.getRank(term as string));
    }),
  };
}

/** Returns the share of short notes that are expected to contain a word; 0 without a rank. See `WEIGHTS.everyday`. */
function getEverydayShare(rank: number | undefined): number {
  const { max, half } = WEIGHTS.everyday;
  return rank === undefined ? 0 : max / (1 + rank / half);
}

/** Minimum match by date, since some dates are named by a common word, such as May. */
const MIN_MATCH = 0.1;

/** A match of the memories that were created from `from` until before `until`, in milliseconds since 1970. */
export interface CreatedMatch {
  from: number;
  until: number;
  /** From 0 to 1. */
  match: number;
}

/**
 * Returns the matches of memories by the date of a query, from `MIN_MATCH` to 1. If the query consists of the date, a
 * memory of the period matches better than a memory of its fringe, and both better than any words.
 *
 * @param shares share of each query word in a match; see `getWordShares`
 */
export function getDateMatches(date: QueryPeriod | undefined, shares: Float64Array, dated: Uint8Array): CreatedMatch[] {
  if (!date) return [];
  const { from, until, earliest, latest, isWholeQuery } = date;
  const fringe = { from: earliest, until: latest };
  if (isWholeQuery)
    return [
      { ...fringe, match: 1 },
      { from, until, match: 1 },
    ];
  const sum = shares.reduce((total, share, word) => (dated[word] ? total + share : total), 0);
  return [{ ...fringe, match: Math.max(MIN_MATCH, WEIGHTS.dated * sum) }];
}

/** Match of a memory that was created in the period only according to another time zone than the query's. */
const OTHER_ZONE_MATCH = 0.5;

/**
 * Returns how well a creation time matches a date, from 0 to 1.
 *
 * @param inFringe the match of a time that is in the period only in another time zone
 */
export function getDateMatch(
  { from, until, earliest, latest }: QueryPeriod,
  createdAt: number,
  inFringe = OTHER_ZONE_MATCH,
): number {
  if (createdAt >= from && createdAt < until) return 1;
  return createdAt >= earliest && createdAt < latest ? inFringe : 0;
}

/** Events are usually mentioned within the week after them. */
const MAX_MENTION_DELAY_MS = 7 * 86_400_000;

/** Returns how likely a memory created at this time mentions a date, from 0 to 1. */
export function getMentionMatch(date: QueryPeriod, createdAt: number): number {
  const isAfter = createdAt >= date.until && createdAt < date.latest + MAX_MENTION_DELAY_MS;
  return isAfter ? 1 : getDateMatch(date, createdAt);
}

/** A word with a similar meaning, or a word that is used about the same topics. */
export interface Synonym {
  /** The index term; see `Word.terms` of text/. */
  term: string;
  /** Similarity of the synonym and its word, from 0 to 1. */
  closeness: number;
  /** See `Thesaurus.getRank`. */
  rank: number;
}

/** Synonyms and frequencies of words. */
export interface Thesaurus {
  /** Returns the synonyms of a term, closest first; an empty list for an unknown term. */
  getSynonyms(term: string): readonly Synonym[];
  /** Returns the number of more frequent terms in the language; undefined for an unknown term. */
  getRank(term: string): number | undefined;
}

/** Maximum number of synonyms whose frequencies are read. The closest synonyms are selected. */
const MAX_COUNTED_SYNONYMS = 512;

/** Maximum number of synonyms that a search uses, limited by the space that the index has for query words. */
const MAX_WEIGHTED_SYNONYMS = 128;

/** A synonym of a query word, with the word's index. */
export interface WordSynonym extends Synonym {
  word: number;
}

/**
 * Returns the synonyms of a query's words that can reach the minimum weight, closest first. `words` has the alternative
 * terms of each word, the English term first.
 */
export function getSynonyms(thesaurus: Thesaurus, words: readonly (readonly string[])[]): WordSynonym[] {
  return words
    .flatMap(([asked = ''], word) => thesaurus.getSynonyms(asked).map((synonym): WordSynonym => ({ ...synonym, word })))
    .filter(({ closeness }) => WEIGHTS.synonym.max * closeness >= WEIGHTS.synonym.min)
    .sort((a, b) => b.closeness - a.closeness)
    .slice(0, MAX_COUNTED_SYNONYMS);
}

/**
 * A synonym that occurs in memories. `word` is the index of its query word. `weight` is the value of an occurrence of
 * the synonym relative to an occurrence of the word, from 0 to 1.
 */
export interface WeighedSynonym {
  word: number;
  term: string;
  weight: number;
}

/**
 * Returns at most `MAX_WEIGHTED_SYNONYMS` of the synonyms that occur in memories, with their weights, greatest first.
 * Leaves out synonyms below the minimum weight. A synonym weighs less if it is less similar to its word, and less if it
 * is more frequent than its word, since a frequent word distinguishes memories less.
 *
 * @param held number of memories that contain each synonym
 */
export function weighed(
  synonyms: readonly WordSynonym[],
  held: readonly number[],
  query: QueryWords,
): WeighedSynonym[] {
  const counts = held.filter((count) => count > 0);
  const counted = synonyms.filter((_, i) => (held[i] as number) > 0);
  const wordWeightsOfQuery = wordWeights(query);
  const everyday = Float64Array.from(counted, ({ rank }) => getEverydayShare(rank));
  const own = wordWeights({ ...query, documentFrequencies: counts, everyday });
  return counted
    .map(({ word, term, closeness }, i) => {
      const specificity = Math.min(1, (own[i] as number) / (wordWeightsOfQuery[word] as number));
      return { word, term, weight: WEIGHTS.synonym.max * closeness * specificity };
    })
    .filter(({ weight }) => weight >= WEIGHTS.synonym.min)
    .sort((a, b) => b.weight - a.weight)
    .slice(0, MAX_WEIGHTED_SYNONYMS);
}
