import {
  ENGLISH,
  FOREIGN,
  firstLanguage,
  LanguageEvidence,
  type LanguageSet,
  languageSet,
  languagesIn,
  NO_LANGUAGE,
} from './languages.ts';
import { scan } from './scan.ts';
import { type Term, Word } from './word.ts';

/** Version of the text analysis. An index of another version is rebuilt. */
export const ANALYZER_VERSION = 10;

/**
 * The index data of a memory: the frequency of each term, and the number of content words (all words except stop
 * words).
 */
export interface TermFrequencies {
  frequencies: Map<string, number>;
  length: number;
}

/**
 * A text usually states its topic first. In a text of at least `ofAtLeast` content words, the frequency of each term
 * within the first `words` content words is increased by one. Measured in docs/decisions/0005; any number from 8 to 20
 * is about as good.
 */
const OPENING = { words: 15, ofAtLeast: 30 } as const;

export function termFrequencies(text: string): TermFrequencies {
  const frequencies = new Map<string, number>();
  const opening = new Set<string>();
  let length = 0;
  function add(term: string, counts: boolean): void {
    increment(frequencies, term);
    if (length < OPENING.words) opening.add(term);
    if (counts) length += 1;
  }
  const words: Word[] = [];
  let openingWords = 0;
  const evidence = new LanguageEvidence();
  scan(text, {
    term: add,
    word: (word) => {
      words.push(word);
      if (length < OPENING.words) openingWords = words.length;
      for (const term of word.terms) add(term.text, term.counts);
      evidence.add(word.evidence);
    },
  });
  const { languages, lead } = evidence.best;
  if (lead > 0) {
    const foreign = getForeignStems(firstLanguage(languages), words);
    length += foreign.lengthChange;
    for (const { stem, place } of foreign.stems) {
      increment(frequencies, stem);
      if (place < openingWords) opening.add(stem);
    }
  }
  if (length >= OPENING.ofAtLeast) for (const term of opening) increment(frequencies, term);
  return { frequencies, length };
}

function increment(frequencies: Map<string, number>, term: string): void {
  frequencies.set(term, (frequencies.get(term) ?? 0) + 1);
}

/**
 * Returns the stems of the content words of a text in a language other than English, with the indexes of the words; the
 * index has these stems in addition to the English terms. `lengthChange` is the difference in the number of content
 * words between this language's stop words and the English stop words.
 */
function getForeignStems(language: number, words: readonly Word[]) {
  const stems: { stem: string; place: number }[] = [];
  let lengthChange = 0;
  for (const [place, word] of words.entries()) {
    const counts = word.countsIn(languageSet(language));
    lengthChange += Number(counts) - Number(word.countsIn(languageSet(ENGLISH)));
    if (!counts || (word.stemmedIn & languageSet(language)) === NO_LANGUAGE) continue;
    stems.push({ stem: word.foreignStem(language), place });
  }
  return { stems, lengthChange };
}

/** Maximum alternative terms per word. */
const MAX_ALTERNATIVES = 4;

/** Maximum words that are stemmed in all languages if the language of a query is unknown. */
const MAX_GUESSED_WORDS = 32;

/** An analyzed query: its words (see `queryWords`), and whether it is probably in a language other than English. */
export interface ReadQuery {
  words: string[][];
  /** For the first term of a word, the folded word from which the term was stemmed. */
  folded: ReadonlyMap<string, string>;
  isForeign: boolean;
}

/**
 * Returns the distinct content words of a query, or all distinct words if the query has no content words. Each word
 * consists of 1 to 4 alternative terms, any of which may match in a memory: first the term that is indexed for texts in
 * any language, then the stems in the languages that the query may be in. No term belongs to two words.
 */
export function queryWords(text: string): string[][] {
  return readQuery(text).words;
}

export function readQuery(text: string): ReadQuery {
  const found: (Word | Term)[] = [];
  const evidence = new LanguageEvidence();
  scan(text, {
    term: (term, counts) => found.push({ text: term, counts }),
    word: (word) => {
      found.push(word);
      evidence.add(word.evidence);
    },
  });
  const languages = getLanguages(evidence);
  const counting = new Alternatives();
  const all = new Alternatives();
  const folded = new Map<string, string>();
  for (const [index, item] of found.entries()) {
    if (item instanceof Word && item.terms[0]) folded.set(item.terms[0].text, item.folded);
    const stemmed = languages.stems === FOREIGN && index >= MAX_GUESSED_WORDS ? NO_LANGUAGE : languages.stems;
    for (const { terms, counts } of getAlternatives(item, { ...languages, stems: stemmed })) {
      all.add(terms);
      if (counts) counting.add(terms);
    }
  }
  return { words: counting.words.length > 0 ? counting.words : all.words, folded, isForeign: evidence.best.lead > 0 };
}

/**
 * Returns the words of a text in order, each as written and with its stem, which is the first of `Word.terms`. For
 * scripts without spaces, returns pairs of letters instead of words.
 */
export function wordSequence(text: string): { written: string; stem: string }[] {
  const words: { written: string; stem: string }[] = [];
  scan(text, {
    term: (term, counts, start, end) => counts && words.push({ written: text.slice(start, end), stem: term }),
    word: ({ terms: [whole] }, start, end) =>
      whole && words.push({ written: text.slice(start, end), stem: whole.text }),
  });
  return words;
}

/**
 * Returns the content words of a text in order, each as written and with its stem: the words that are no stop words in
 * the text's own language. For scripts without spaces, returns pairs of letters instead of words.
 */
export function contentWords(text: string): { written: string; stem: string }[] {
  const found: { item: Word | Term; start: number; end: number }[] = [];
  const evidence = new LanguageEvidence();
  scan(text, {
    term: (term, counts, start, end) => found.push({ item: { text: term, counts }, start, end }),
    word: (word, start, end) => {
      found.push({ item: word, start, end });
      evidence.add(word.evidence);
    },
  });
  const { stopWords } = getLanguages(evidence);
  return found.flatMap(({ item, start, end }) => {
    const isWord = item instanceof Word;
    const stem = isWord ? item.terms[0]?.text : item.text;
    const counts = isWord ? item.countsIn(stopWords) : item.counts;
    return counts && stem !== undefined ? [{ written: text.slice(start, end), stem }] : [];
  });
}

const LETTER = /\p{L}/gu;
const LATIN_LETTER = /\p{sc=Latin}/gu;

/** Minimum share of Latin letters in an English text; names may be in another script. */
const MIN_LATIN = 0.8;

/** Whether a text is in English, judged by its letters and function words; true for a text without letters. */
export function isEnglish(text: string): boolean {
  const letters = text.match(LETTER)?.length ?? 0;
  if ((text.match(LATIN_LETTER)?.length ?? 0) < MIN_LATIN * letters) return false;
  const evidence = new LanguageEvidence();
  scan(text, { term: () => {}, word: (word) => evidence.add(word.evidence) });
  return evidence.best.lead <= 0;
}

/**
 * The languages, besides English, in which a query's words are stemmed, and the languages whose stop words are
 * excluded.
 */
interface QueryLanguages {
  stems: LanguageSet;
  stopWords: LanguageSet;
}

/** A query is short, so other languages are excluded only if there is evidence of its language. */
function getLanguages(evidence: LanguageEvidence): QueryLanguages {
  const { languages, lead } = evidence.best;
  const english = languageSet(ENGLISH);
  if (lead > 0) return { stems: languages, stopWords: languages };
  if (lead < 0) return { stems: NO_LANGUAGE, stopWords: english };
  return { stems: languages === NO_LANGUAGE ? FOREIGN : languages, stopWords: english };
}

function* getAlternatives(
  item: Word | Term,
  { stems, stopWords }: QueryLanguages,
): Iterable<{ terms: string[]; counts: boolean }> {
  if (!(item instanceof Word)) {
    yield { terms: [item.text], counts: item.counts };
    return;
  }
  for (const [index, term] of item.terms.entries()) {
    const counts = index === 0 ? item.countsIn(stopWords) : term.counts;
    const foreign = index === 0 && counts ? getLikeliestStems(item, stems) : [];
    yield { terms: [term.text, ...foreign], counts };
  }
}

/** Returns at most three stems of a word in these languages, the stem of the most languages first. */
function getLikeliestStems(word: Word, languages: LanguageSet): string[] {
  const votes = new Map<string, number>();
  for (const language of languagesIn(word.stemmedIn & languages)) {
    const stem = word.foreignStem(language);
    votes.set(stem, (votes.get(stem) ?? 0) + 1);
  }
  return [...votes]
    .sort(([, a], [, b]) => b - a)
    .map(([stem]) => stem)
    .slice(0, MAX_ALTERNATIVES - 1);
}

/** The words of a query by their alternative terms. */
class Alternatives {
  readonly #byTerm = new Map<string, string[]>();

  /** Adds a word, or merges it into a word that shares a term. */
  add(terms: readonly string[]): void {
    const shared = terms.find((term) => this.#byTerm.has(term));
    const word = shared === undefined ? [] : (this.#byTerm.get(shared) as string[]);
    for (const term of terms) {
      if (this.#byTerm.has(term) || word.length >= MAX_ALTERNATIVES) continue;
      word.push(term);
      this.#byTerm.set(term, word);
    }
  }

  get words(): string[][] {
    return [...new Set(this.#byTerm.values())];
  }
}

/**
 * Creates a function that returns the distinct words of a text, as written, that match words of a query by the rules of
 * the index. Words that match only by a stem in the text's own language are last.
 *
 * @param maxUnits maximum UTF-16 units to search, over all texts together
 */
export function wordMatcher(query: string, maxUnits: number): (text: string) => string[] {
  const wanted = new Set(queryWords(query).flat());
  let left = maxUnits;
  return (text) => {
    const searched = text.slice(0, left);
    left -= searched.length;
    return getMatchedWords(searched, wanted);
  };
}

function getMatchedWords(text: string, wanted: ReadonlySet<string>): string[] {
  const matched = new Set<string>();
  visitMatches(text, wanted, (_term, start, end) => matched.add(text.slice(start, end)));
  return [...matched];
}

/** The wanted terms, such as a set or a map by term. */
interface WantedTerms {
  has(term: string): boolean;
}

/** Receives a matched term and its position in the text. */
type MatchVisitor = (term: string, start: number, end: number) => void;

/** A word with its position in the text. */
interface PlacedWord {
  word: Word;
  start: number;
  end: number;
}

/**
 * Visits each match of a wanted term in a text, as an index would match it, in linear time. Words that match only by
 * the stem in the text's own language are visited last.
 */
export function visitMatches(text: string, wanted: WantedTerms, found: MatchVisitor): void {
  const others: PlacedWord[] = [];
  const evidence = new LanguageEvidence();
  scan(text, {
    term: (term, _counts, start, end) => {
      if (wanted.has(term)) found(term, start, end);
    },
    word: (word, start, end) => {
      evidence.add(word.evidence);
      let isFound = false;
      for (const term of word.terms) {
        if (!wanted.has(term.text)) continue;
        isFound = true;
        found(term.text, start, end);
      }
      if (!isFound && word.stemmedIn !== NO_LANGUAGE) others.push({ word, start, end });
    },
  });
  const { languages, lead } = evidence.best;
  if (lead > 0) visitForeign(firstLanguage(languages), others, wanted, found);
}

/** Visits words whose stem in the text's own language is wanted. */
function visitForeign(language: number, words: readonly PlacedWord[], wanted: WantedTerms, found: MatchVisitor): void {
  const own = languageSet(language);
  for (const { word, start, end } of words) {
    if ((word.stemmedIn & own) === NO_LANGUAGE) continue;
    const stem = word.foreignStem(language);
    if (wanted.has(stem)) found(stem, start, end);
  }
}
