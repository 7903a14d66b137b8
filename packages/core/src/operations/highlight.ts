import { LIMITS } from '@memoryd/contract';
import {
  cutAround,
  getGraphemes,
  getParts,
  getSynonyms,
  getWordKinds,
  type Part,
  readQuery,
  SentenceStarts,
  type Thesaurus,
  toWholeGraphemes,
  visitMatches,
  WEIGHTS,
  withoutAsides,
  wordWeights,
} from '@memoryd/search';

/** A place in a text where a term matches a word of the query. */
interface Match extends Part {
  terms: readonly QueryTerm[];
}

interface QueryTerm {
  /** Position of the word in the query. */
  word: number;
  /** Weight that the term adds to a window, unless the window has a term of greater weight for the same word. */
  weight: number;
}

/**
 * Factor by which weights are scaled and rounded to integers. Sums of integers are exact in any order, so windows with
 * the same words have equal weights.
 */
const WEIGHT_STEPS = 2 ** 20;

/**
 * Creates a function that returns the highlight of a text. A text of at most 300 characters is its own highlight. From
 * a longer text, the highlight is the part of at most 300 UTF-16 units whose distinct query words have the greatest
 * total weight. A synonym adds a small weight if its word is missing. Among parts of equal weight, the first that can
 * begin with a sentence or a line wins, or else the first. For a text without a match, parts of the query's words are
 * searched too (see `getParts`). If these do not match either, the highlight is the beginning of the text.
 *
 * @param maxUnits maximum UTF-16 units to search, over all texts together
 */
export function createHighlighter(
  query: string,
  thesaurus: Thesaurus,
  maxUnits: number = LIMITS.highlightedUnits,
): (content: string) => string {
  const terms = getQueryTerms(query, thesaurus);
  const partTerms = getPartTerms(query);
  let left = maxUnits;
  return (content) => {
    if (hasAtMost(content, LIMITS.highlightChars)) return content;
    const searched = content.slice(0, left);
    left -= searched.length;
    const find = (wanted: typeof terms) => findBestPart(searched, findMatches(searched, wanted));
    const part = find(terms) ?? (partTerms.size > 0 ? find(partTerms) : undefined) ?? getBeginning(content);
    return cutAround(content, part, LIMITS.highlightChars);
  };
}

function hasAtMost(text: string, chars: number): boolean {
  return text.length <= chars || (text.length <= 2 * chars && [...text].length <= chars);
}

/** Returns the terms that match words of a query, by their text. */
function getQueryTerms(query: string, thesaurus: Thesaurus): Map<string, QueryTerm[]> {
  const { words, isForeign } = readQuery(withoutAsides(query));
  const { everyday } = getWordKinds({ text: query, words, isForeign }, thesaurus);
  const weights = getWeights(everyday);
  const byText = new Map<string, QueryTerm[]>();
  const add = (text: string, word: number, share: number) => {
    const weight = Math.round(share * (weights[word] as number) * WEIGHT_STEPS);
    byText.set(text, [...(byText.get(text) ?? []), { word, weight }]);
  };
  for (const [word, texts] of words.entries()) for (const text of texts) add(text, word, 1);
  // The thesaurus is English. Words of another language have no synonyms in it, even if they are spelled like English
  // words.
  const synonyms = isForeign ? [] : getSynonyms(thesaurus, words);
  for (const { term, word, closeness } of synonyms) add(term, word, WEIGHTS.synonym.max * closeness);
  return byText;
}

/** Returns the terms that match parts of a query's words, by their text. */
function getPartTerms(query: string): Map<string, QueryTerm[]> {
  const { words, folded } = readQuery(query);
  const parts = words.flatMap(([term = '']) => getParts(folded.get(term) ?? term));
  return new Map(parts.flatMap((terms, word) => terms.map((term) => [term, [{ word, weight: 1 }]])));
}

/** Returns the weights of words from 0 to 1: the rarer a word is in English, the more it weighs. */
function getWeights(everyday: Float64Array): Float64Array {
  const documentFrequencies = [...everyday].fill(0);
  const weights = wordWeights({ memoryCount: 0, documentFrequencies, everyday });
  const largest = Math.max(...weights);
  return weights.map((weight) => weight / largest);
}

/** The first character that can belong to the grapheme of the character before it, except for a line end. */
const FIRST_MARK = 0x300;

/** Returns the matches that fit into a highlight, with whole graphemes, sorted by start. */
function findMatches(text: string, terms: ReadonlyMap<string, QueryTerm[]>): Match[] {
  const matches: Match[] = [];
  const graphemes = getGraphemes(text);
  visitMatches(text, terms, (term, start, end) => {
    const isPlain = text.charCodeAt(start) < FIRST_MARK && text.charCodeAt(end) < FIRST_MARK;
    const part = isPlain ? { start, end } : toWholeGraphemes(graphemes, { start, end }, LIMITS.highlightChars);
    if (part.end - part.start > LIMITS.highlightChars) return;
    matches.push({ ...part, terms: terms.get(term) as QueryTerm[] });
  });
  return matches.sort((a, b) => a.start - b.start);
}

/** Returns the best part of a text, as `createHighlighter` defines; undefined without matches. */
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

/** Returns the shortest part that begins with the first match of a window and has the window's whole weight. */
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

/**
 * The matches in a part of a text. The weight counts each query word once, with the greatest weight among its terms.
 */
class Window {
  weight = 0;
  /** For each query word, the number of matches in the part by weight of the term. */
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
