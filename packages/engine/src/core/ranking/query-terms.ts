import type { AskedDate } from '../../ports/ranking.ts';
import { queryWords } from '../text/analyze.ts';
import { type QueryWords, wordWeights } from './bm25.ts';
import { WEIGHTS } from './weights.ts';

/** Who "you" is to somebody who asks about a conversation with an assistant, by the names that chats give it. */
const ASSISTANTS = ['assistant', 'ai'];

const YOU = new Set(termsOf(['you', 'your', 'yours']));
const PERSONS = new Set(termsOf(['i', 'my', 'me', 'you', 'your']));
const NAMES = termsOf(ASSISTANTS);

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

/** For each word of a query, 1 where it is one of those by which English speakers name themselves or each other. */
export function personsAmong(words: readonly string[][]): Uint8Array {
  return Uint8Array.from(words, ([term]) => (PERSONS.has(term as string) ? 1 : 0));
}

/** As an index has them. */
function termsOf(words: readonly string[]): string[] {
  return words.flatMap((word) => queryWords(word).flatMap(([term]) => term ?? []));
}

/** For each word of a query, 1 where it is one of those that name the date that the query asks about. */
export function datedAmong(words: readonly string[][], date: AskedDate | undefined): Uint8Array {
  const naming = new Set(date && queryWords(date.text).map(([term]) => term));
  return Uint8Array.from(words, ([term]) => (naming.has(term) ? 1 : 0));
}

/** Some dates have a name that tells nothing, as May does. */
const LEAST_MATCH = 0.1;

/**
 * How well a memory matches that is found because it is of the date that a query asks about, from 0 to 1.
 *
 * @param shares what part of a match each word makes
 */
export function dateMatch(shares: Float64Array, dated: Uint8Array): number {
  return Math.max(
    LEAST_MATCH,
    WEIGHTS.dated * shares.reduce((sum, share, word) => (dated[word] ? sum + share : sum), 0),
  );
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
}

/** Words that may stand for others. */
export interface Thesaurus {
  /** The synonyms of a term, the closest first; none of what it does not know. */
  synonymsOf(term: string): readonly Synonym[];
}

/**
 * Most synonyms that memories are counted for, the closest; and most that take part in a search, those that count most: no
 * more than an index has room for among the words of a question.
 */
const MOST_COUNTED = 512;
const MOST_WEIGHED = 128;

/** A synonym of a word of a query, with that word's place among the words. */
export interface WordSynonym extends Synonym {
  word: number;
}

/** The synonyms of a query's words that may count, the closest first; each word is any of some terms, English first. */
export function synonymsOf(thesaurus: Thesaurus, words: readonly (readonly string[])[]): WordSynonym[] {
  return words
    .flatMap(([asked = ''], word) =>
      thesaurus.synonymsOf(asked).map(({ term, closeness }): WordSynonym => ({ word, term, closeness })),
    )
    .filter(({ closeness }) => WEIGHTS.synonym.most * closeness >= WEIGHTS.synonym.least)
    .sort((a, b) => b.closeness - a.closeness)
    .slice(0, MOST_COUNTED);
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
export function weighed(synonyms: readonly WordSynonym[], held: number[], query: QueryWords): WeighedSynonym[] {
  const ofWords = wordWeights(query);
  const own = wordWeights({ ...query, documentFrequencies: held });
  return synonyms
    .map(({ word, term, closeness }, i) => {
      const telling = Math.min(1, (own[i] as number) / (ofWords[word] as number));
      return { word, term, weight: held[i] === 0 ? 0 : WEIGHTS.synonym.most * closeness * telling };
    })
    .filter(({ weight }) => weight >= WEIGHTS.synonym.least)
    .sort((a, b) => b.weight - a.weight)
    .slice(0, MOST_WEIGHED);
}
