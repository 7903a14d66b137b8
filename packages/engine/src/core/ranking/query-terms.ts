import type { AskedDate } from '../../ports/ranking.ts';
import type { QueryWordKinds } from '../../ports/storage-search.ts';
import { queryWords } from '../text/analyze.ts';
import { type QueryWords, wordWeights } from './bm25.ts';
import { WEIGHTS } from './weights.ts';

/** Who "you" is to somebody who asks about a conversation with an assistant, by the names that chats give it. */
const ASSISTANTS = ['assistant', 'ai'];

const YOU = new Set(getTermsOfEach(['you', 'your', 'yours']));
const PERSONS = new Set(getTermsOfEach(['i', 'my', 'me', 'you', 'your']));
const USER = getTerms('user');
const NAMES = getTermsOfEach(ASSISTANTS);

/** A polite request says "you" too, but asks for nothing that was said. */
const ADDRESSES = /(?<!\b(?:can|could|will|would)\s{1,4})\byou(?:rs?)?\b/i;

/**
 * For each word of a query, each any of some terms, the terms by which it names a speaker: its own, and where the query
 * asks what "you" said, those of an assistant. In English alone.
 */
export function speakerTerms(query: string, words: readonly string[][]): string[][] {
  if (!ADDRESSES.test(query)) return [...words];
  return words.map((terms) => (YOU.has(terms[0] as string) ? [...terms, ...NAMES] : terms));
}

/**
 * The parts of an English question that say nothing of its answer, though their words may stand in many memories ("stop
 * structures", Callan, Croft and Broglio 1995, "TREC and TIPSTER experiments with INQUERY").
 */
const ASIDES =
  /\bfor a living\b|(?<=\b(?:should|shall|can|could|may|might|must|would) (?:i|we|you|they|he|she) )(?:ask|call|choose|contact|do|get|go|pick|see|take|try|use)\b(?=\W*$)/gi;

/** Returns a query without its asides, or as it is where nothing else is left. */
export function withoutAsides(query: string): string {
  const rest = query.replace(ASIDES, ' ');
  return rest !== query && queryWords(rest).length > 0 ? rest : query;
}

const THE_USER = /\bthe user\b/i;

/** The user of an agent is named by notes about that person alone, so that the words tell none from another. */
function getPersons(query: string): ReadonlySet<string> {
  return THE_USER.test(query) ? new Set([...PERSONS, ...USER]) : PERSONS;
}

/** As an index has them. */
function getTerms(text: string): string[] {
  return queryWords(text).flatMap(([term]) => term ?? []);
}

/** Those of words that count as little as "yours" do, too. */
function getTermsOfEach(words: readonly string[]): string[] {
  return words.flatMap(getTerms);
}

/** A word with a digit, or one that begins with a capital and no sentence. */
const NAMED = /[\p{L}\p{N}]+(?:[-_.:/#][\p{L}\p{N}]+)*/gu;
const SENTENCE_END = /(?:^|[.!?:]\s)[\s\p{P}]*$/u;

/** Returns the names, the numbers and other identifiers that a query has, as an index has their words. */
function getNames(query: string, areCapitalsNames: boolean): Set<string> {
  const names = [...query.matchAll(NAMED)].filter(({ 0: word, index }) => {
    if (/\p{N}/u.test(word)) return true;
    return areCapitalsNames && /^\p{Lu}/u.test(word) && !SENTENCE_END.test(query.slice(0, index));
  });
  return new Set(names.flatMap(([name]) => getTerms(name)));
}

/** A query, its words, and whether these are of a language other than English. */
interface Asked {
  text: string;
  words: readonly string[][];
  isForeign: boolean;
  date?: AskedDate | undefined;
}

/** Returns the kinds of a query's words, as far as English goes. */
export function getWordKinds({ text, words, isForeign, date }: Asked, thesaurus: Thesaurus): QueryWordKinds {
  const persons = getPersons(text);
  const naming = new Set(date && getTerms(date.text));
  // Other languages begin nouns with capitals too, and a text in capitals says nothing by them.
  const names = getNames(text, !isForeign && /\p{Ll}/u.test(text));
  const mark = (isMarked: (term: string) => boolean) =>
    Uint8Array.from(words, ([term]) => (isMarked(term as string) ? 1 : 0));
  return {
    persons: mark((term) => persons.has(term)),
    dated: mark((term) => naming.has(term)),
    named: mark((term) => names.has(term) && !persons.has(term) && !naming.has(term)),
    everyday: Float64Array.from(words, ([term]) => {
      if (isForeign) return 0;
      return getEverydayShare(persons.has(term as string) ? 0 : thesaurus.getRank(term as string));
    }),
  };
}

/** Returns in which part of short notes a word is expected; 0 of a word without a rank. See `WEIGHTS.everyday`. */
function getEverydayShare(rank: number | undefined): number {
  const { most, half } = WEIGHTS.everyday;
  return rank === undefined ? 0 : most / (1 + rank / half);
}

/** Some dates have a name that tells nothing, as May does. */
const MIN_MATCH = 0.1;

/**
 * How well a memory matches that is found because it is of the date that a query asks about, from 0 to 1.
 *
 * @param shares what part of a match each word makes
 */
export function dateMatch(shares: Float64Array, dated: Uint8Array): number {
  return Math.max(MIN_MATCH, WEIGHTS.dated * shares.reduce((sum, share, word) => (dated[word] ? sum + share : sum), 0));
}

/** How far a memory is of a date that is so only in another time zone than that of the query. */
const ELSEWHERE = 0.5;

/** Returns how far a memory created at a time is of a date, from 0 to 1. */
export function shareOfDate({ from, until, earliest, latest }: AskedDate, createdAt: number): number {
  if (createdAt >= from && createdAt < until) return 1;
  return createdAt >= earliest && createdAt < latest ? ELSEWHERE : 0;
}

/** What happens is told before the next week is over. */
const TOLD_AFTER_MS = 7 * 86_400_000;

/** Returns how far a memory created at a time may speak of a date, from 0 to 1. */
export function shareToldAbout(date: AskedDate, createdAt: number): number {
  const isAfter = createdAt >= date.until && createdAt < date.latest + TOLD_AFTER_MS;
  return isAfter ? 1 : shareOfDate(date, createdAt);
}

/** A word that means about the same as another, or is said of the same things. */
export interface Synonym {
  /** As an index has it; see `Word.terms` in core/text. */
  term: string;
  /** How near the two are by meaning, from 0 to 1. */
  closeness: number;
  /** See `Thesaurus.getRank`. */
  rank: number;
}

/** Words that may stand for others. */
export interface Thesaurus {
  /** The synonyms of a term, the closest first; none of what it does not know. */
  getSynonyms(term: string): readonly Synonym[];
  /** Returns how many terms are more frequent in its language; undefined for what it does not know. */
  getRank(term: string): number | undefined;
}

/**
 * Most synonyms that memories are counted for, the closest; and most that take part in a search, those that count most: no
 * more than an index has room for among the words of a question.
 */
const MAX_COUNTED = 512;
const MAX_WEIGHED = 128;

/** A synonym of a word of a query, with that word's place among the words. */
export interface WordSynonym extends Synonym {
  word: number;
}

/** The synonyms of a query's words that may count, the closest first; each word is any of some terms, English first. */
export function getSynonyms(thesaurus: Thesaurus, words: readonly (readonly string[])[]): WordSynonym[] {
  return words
    .flatMap(([asked = ''], word) => thesaurus.getSynonyms(asked).map((synonym): WordSynonym => ({ ...synonym, word })))
    .filter(({ closeness }) => WEIGHTS.synonym.most * closeness >= WEIGHTS.synonym.least)
    .sort((a, b) => b.closeness - a.closeness)
    .slice(0, MAX_COUNTED);
}

/** A synonym that memories hold, and as what part of an occurrence of its word each of its own counts, from 0 to 1. */
export interface WeighedSynonym {
  word: number;
  term: string;
  weight: number;
}

/**
 * What each synonym counts for that any memory holds, the most first: the less the further it is from its word by meaning,
 * and the less the commoner it is than that, since it tells no more than it would as a word of the query.
 *
 * @param held in how many memories each synonym occurs
 */
export function weighed(
  synonyms: readonly WordSynonym[],
  held: readonly number[],
  query: QueryWords,
): WeighedSynonym[] {
  const counts = held.filter((count) => count > 0);
  const counted = synonyms.filter((_, i) => (held[i] as number) > 0);
  const ofWords = wordWeights(query);
  const everyday = Float64Array.from(counted, ({ rank }) => getEverydayShare(rank));
  const own = wordWeights({ ...query, documentFrequencies: counts, everyday });
  return counted
    .map(({ word, term, closeness }, i) => {
      const telling = Math.min(1, (own[i] as number) / (ofWords[word] as number));
      return { word, term, weight: WEIGHTS.synonym.most * closeness * telling };
    })
    .filter(({ weight }) => weight >= WEIGHTS.synonym.least)
    .sort((a, b) => b.weight - a.weight)
    .slice(0, MAX_WEIGHED);
}
