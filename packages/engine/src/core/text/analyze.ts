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

/** Names the rules below; an index holds terms of one version only, and is rebuilt for another. */
export const ANALYZER_VERSION = 7;

/** What an index keeps of a memory: how often each of its terms occurs, and its length in words that count. */
export interface TermFrequencies {
  frequencies: Map<string, number>;
  length: number;
}

/**
 * What a text is about comes first: of a text of at least so many words that count, the terms of the first ones occur
 * once more than they stand there. Measured in docs/decisions/0005; any number from 8 to 20 is about as good.
 */
const OPENING = { words: 15, ofAtLeast: 30 } as const;

export function termFrequencies(text: string): TermFrequencies {
  const frequencies = new Map<string, number>();
  const opening = new Set<string>();
  let length = 0;
  function add(term: string, counts: boolean): void {
    occur(frequencies, term);
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
    const foreign = getForeign(firstLanguage(languages), words);
    length += foreign.lengthChange;
    for (const { stem, place } of foreign.stems) {
      occur(frequencies, stem);
      if (place < openingWords) opening.add(stem);
    }
  }
  if (length >= OPENING.ofAtLeast) for (const term of opening) occur(frequencies, term);
  return { frequencies, length };
}

function occur(frequencies: Map<string, number>, term: string): void {
  frequencies.set(term, (frequencies.get(term) ?? 0) + 1);
}

/**
 * What comes to the terms of a text, which are there as for English: the stems of its words in its own language, with
 * the places of the words, and by how much that language's stop words, in place of the English ones, change its length.
 */
function getForeign(language: number, words: readonly Word[]) {
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

/** Most terms that stand for one word. */
const MAX_ALTERNATIVES = 4;

/** Of a query whose language nothing tells, the words that are looked for by their stems in any language. */
const MAX_GUESSED = 32;

/** What a query says: its words (see `queryWords`), and whether they speak for a language other than English. */
export interface ReadQuery {
  words: string[][];
  isForeign: boolean;
}

/**
 * The distinct words that a query looks for: those that count, or all of them where none does. Each is 1 to 4 terms,
 * any of which may stand for it in a memory: first the one that is there whatever the memory's language, then its stems
 * in the languages that the query may be in. No term stands for two words.
 */
export function queryWords(text: string): string[][] {
  return readQuery(text).words;
}

/** See `ReadQuery`. */
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
  for (const [index, item] of found.entries()) {
    const stemmed = languages.stems === FOREIGN && index >= MAX_GUESSED ? NO_LANGUAGE : languages.stems;
    for (const { terms, counts } of alternatives(item, { ...languages, stems: stemmed })) {
      all.add(terms);
      if (counts) counting.add(terms);
    }
  }
  return { words: counting.words.length > 0 ? counting.words : all.words, isForeign: evidence.best.lead > 0 };
}

/** Returns the words of a text in order, each as it is written and stemmed as for English; of other scripts, letter pairs. */
export function wordSequence(text: string): { written: string; stem: string }[] {
  const words: { written: string; stem: string }[] = [];
  scan(text, {
    term: (term, counts, start, end) => counts && words.push({ written: text.slice(start, end), stem: term }),
    word: ({ terms: [whole] }, start, end) =>
      whole && words.push({ written: text.slice(start, end), stem: whole.text }),
  });
  return words;
}

const LETTER = /\p{L}/gu;
const LATIN_LETTER = /\p{sc=Latin}/gu;

/** Part of a text's letters that must be Latin for it to be in English: a name may be in another script. */
const MIN_LATIN = 0.8;

/** Whether a text is in English, as far as its letters and function words tell; true for a text without letters. */
export function isEnglish(text: string): boolean {
  const letters = text.match(LETTER)?.length ?? 0;
  if ((text.match(LATIN_LETTER)?.length ?? 0) < MIN_LATIN * letters) return false;
  const evidence = new LanguageEvidence();
  scan(text, { term: () => {}, word: (word) => evidence.add(word.evidence) });
  return evidence.best.lead <= 0;
}

/** In which languages a query's words are stemmed beside English, and of which its stop words are left out. */
interface QueryLanguages {
  stems: LanguageSet;
  stopWords: LanguageSet;
}

/** A query is short, so what it says of its language excludes others only where it says something. */
function getLanguages(evidence: LanguageEvidence): QueryLanguages {
  const { languages, lead } = evidence.best;
  const english = languageSet(ENGLISH);
  if (lead > 0) return { stems: languages, stopWords: languages };
  if (lead < 0) return { stems: NO_LANGUAGE, stopWords: english };
  return { stems: languages === NO_LANGUAGE ? FOREIGN : languages, stopWords: english };
}

function* alternatives(
  item: Word | Term,
  { stems, stopWords }: QueryLanguages,
): Iterable<{ terms: string[]; counts: boolean }> {
  if (!(item instanceof Word)) {
    yield { terms: [item.text], counts: item.counts };
    return;
  }
  for (const [index, term] of item.terms.entries()) {
    const counts = index === 0 ? item.countsIn(stopWords) : term.counts;
    const foreign = index === 0 && counts ? likeliestStems(item, stems) : [];
    yield { terms: [term.text, ...foreign], counts };
  }
}

/** The stems on which most of these languages agree. */
function likeliestStems(word: Word, languages: LanguageSet): string[] {
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

/** Words of a query by the terms that stand for them. */
class Alternatives {
  readonly #byTerm = new Map<string, string[]>();

  /** Adds a word, to another one that shares a term with it if there is one. */
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
 * What tells which words of a text match words of a query, as an index of the text would find them: each once, as it is
 * written there, those without stems first. It looks at so many UTF-16 units of all texts that it is given, and at nothing
 * beyond.
 */
export function wordMatcher(query: string, mostUnits: number): (text: string) => string[] {
  const wanted = new Set(queryWords(query).flat());
  let left = mostUnits;
  return (text) => {
    const looked = text.slice(0, left);
    left -= looked.length;
    return matchedWords(looked, wanted);
  };
}

function matchedWords(text: string, wanted: ReadonlySet<string>): string[] {
  const matched = new Set<string>();
  visitMatches(text, wanted, (_term, start, end) => matched.add(text.slice(start, end)));
  return [...matched];
}

/** Terms that are looked for, such as a set of them or a map by them. */
interface WantedTerms {
  has(term: string): boolean;
}

/** Takes a term that was looked for, with where it stands in the text. */
type MatchVisitor = (term: string, start: number, end: number) => void;

/** A word of a text with where it stands. */
interface PlacedWord {
  word: Word;
  start: number;
  end: number;
}

/**
 * Visits each place of a text where an index of the text would find one of some terms, in time linear in its length.
 * Words that are found only by their stem in the text's own language come after all others.
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

/** Visits words of a text whose stem in its own language is wanted. */
function visitForeign(language: number, words: readonly PlacedWord[], wanted: WantedTerms, found: MatchVisitor): void {
  const own = languageSet(language);
  for (const { word, start, end } of words) {
    if ((word.stemmedIn & own) === NO_LANGUAGE) continue;
    const stem = word.foreignStem(language);
    if (wanted.has(stem)) found(stem, start, end);
  }
}
