import { LIMITS } from '@memoryd/contract';
import { wordWeights } from './ranking/bm25.ts';
import { getSynonyms, getWordKinds, type Thesaurus, withoutAsides } from './ranking/query-terms.ts';
import { WEIGHTS } from './ranking/weights.ts';
import { readQuery, visitMatches } from './text/analyze.ts';
import { cutAround, type Part, SentenceStarts } from './text/excerpt.ts';

/** A place of a text with a term that stands for a word of the query. */
interface Match extends Part {
  terms: readonly QueryTerm[];
}

/** A term that stands for a word of the query. */
interface QueryTerm {
  /** The place of the word in the query. */
  word: number;
  /** The weight of the word in a window that has this term and none of a greater weight. */
  weight: number;
}

/**
 * Weights are rounded to such parts of 1. Sums of them are then the same in any order, and windows with the same words tie.
 */
const PARTS_OF_WEIGHT = 2 ** 20;

/**
 * Creates a function that returns the highlight of a content: a content of at most 300 characters itself, of others a
 * part of at most 300 UTF-16 units around the words of the query. The distinct words of that part weigh the most of all
 * such parts. A synonym counts a little if its word is missing. If parts weigh the same, the first that can begin with a
 * sentence or a line is returned, or else the first. Without any word of the query, it is the beginning of the content.
 *
 * @param maxUnits UTF-16 units of all contents together in which words are looked for
 */
export function createHighlighter(
  query: string,
  thesaurus: Thesaurus,
  maxUnits: number = LIMITS.highlightedUnits,
): (content: string) => string {
  const terms = getQueryTerms(query, thesaurus);
  let left = maxUnits;
  return (content) => {
    if (hasAtMost(content, LIMITS.highlightChars)) return content;
    const searched = content.slice(0, left);
    left -= searched.length;
    const part = findBestPart(searched, findMatches(searched, terms)) ?? getBeginning(content);
    return cutAround(content, part, LIMITS.highlightChars);
  };
}

function hasAtMost(text: string, chars: number): boolean {
  return text.length <= chars || (text.length <= 2 * chars && [...text].length <= chars);
}

/** Returns the terms that stand for words of a query, by their text. */
function getQueryTerms(query: string, thesaurus: Thesaurus): Map<string, QueryTerm[]> {
  const { words, isForeign } = readQuery(withoutAsides(query));
  const { everyday } = getWordKinds({ text: query, words, isForeign }, thesaurus);
  const weights = getWeights(everyday);
  const byText = new Map<string, QueryTerm[]>();
  const add = (text: string, word: number, share: number) => {
    const weight = Math.round(share * (weights[word] as number) * PARTS_OF_WEIGHT);
    byText.set(text, [...(byText.get(text) ?? []), { word, weight }]);
  };
  for (const [word, texts] of words.entries()) for (const text of texts) add(text, word, 1);
  // Words of another language only look like English ones, and have no synonyms.
  const synonyms = isForeign ? [] : getSynonyms(thesaurus, words);
  for (const { term, word, closeness } of synonyms) add(term, word, WEIGHTS.synonym.most * closeness);
  return byText;
}

/** Returns the weights of words from 0 to 1: the rarer a word is in English, the more it weighs. */
function getWeights(everyday: Float64Array): Float64Array {
  const documentFrequencies = [...everyday].fill(0);
  const weights = wordWeights({ memoryCount: 0, documentFrequencies, everyday });
  const largest = Math.max(...weights);
  return weights.map((weight) => weight / largest);
}

/** Returns the matches of a text that fit into a highlight, in the order of their starts. */
function findMatches(text: string, terms: ReadonlyMap<string, QueryTerm[]>): Match[] {
  const matches: Match[] = [];
  visitMatches(text, terms, (term, start, end) => {
    if (end - start <= LIMITS.highlightChars) matches.push({ start, end, terms: terms.get(term) as QueryTerm[] });
  });
  return matches.sort((a, b) => a.start - b.start);
}

/** Returns the part of a text that the best window has its weight from; nothing without matches. */
function findBestPart(text: string, matches: readonly Match[]): Part | undefined {
  const window = new Window();
  const sentences = new SentenceStarts(text);
  let best = { weight: 0, first: 0, beginsSentence: false };
  let last = 0;
  let end = 0;
  for (const [first, match] of matches.entries()) {
    for (let next = matches[last]; next && next.end <= match.start + LIMITS.highlightChars; next = matches[++last]) {
      window.add(next);
      end = Math.max(end, next.end);
    }
    if (window.weight > best.weight || (window.weight === best.weight && !best.beginsSentence)) {
      const beginsSentence = sentences.findLast(end - LIMITS.highlightChars, match.start) !== undefined;
      if (window.weight > best.weight || beginsSentence) best = { weight: window.weight, first, beginsSentence };
    }
    window.remove(match);
  }
  return best.weight > 0 ? tighten(matches, best.first, best.weight) : undefined;
}

/** Returns the shortest part of a window that begins with its first match and has its whole weight. */
function tighten(matches: readonly Match[], first: number, weight: number): Part {
  const window = new Window();
  const { start } = matches[first] as Match;
  let end = start;
  for (let at = first; window.weight < weight; at += 1) {
    const match = matches[at] as Match;
    window.add(match);
    end = Math.max(end, match.end);
  }
  return { start, end };
}

function getBeginning(text: string): Part {
  const start = Math.max(0, text.search(/\S/));
  return { start, end: start };
}

/** The matches in a part of a text. Its weight counts each word of the query once, by the greatest weight of its terms. */
class Window {
  weight = 0;
  /** For each word of the query, how many of its terms of each weight are in the part. */
  readonly #counts: Map<number, number>[] = [];

  add({ terms }: Match): void {
    for (const term of terms) this.#count(term, 1);
  }

  remove({ terms }: Match): void {
    for (const term of terms) this.#count(term, -1);
  }

  #count({ word, weight }: QueryTerm, change: number): void {
    const counts = (this.#counts[word] ??= new Map());
    const before = getGreatest(counts);
    const count = (counts.get(weight) ?? 0) + change;
    if (count > 0) counts.set(weight, count);
    else counts.delete(weight);
    this.weight += getGreatest(counts) - before;
  }
}

function getGreatest(counts: ReadonlyMap<number, number>): number {
  let greatest = 0;
  for (const weight of counts.keys()) greatest = Math.max(greatest, weight);
  return greatest;
}
