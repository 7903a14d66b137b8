import { LanguageEvidence } from './language-evidence.ts';
import { ENGLISH, FOREIGN, type LanguageSet, languageSet, languagesIn, NO_LANGUAGE } from './languages.ts';
import { scan } from './scan.ts';
import { type Term, Word } from './word.ts';

/** Most terms that stand for one word. */
const MOST_ALTERNATIVES = 4;

/** Of a query whose language nothing tells, the words that are looked for by their stems in any language. */
const MOST_GUESSED = 32;

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
  const languages = languagesOf(evidence);
  const counting = new Alternatives();
  const all = new Alternatives();
  for (const [index, item] of found.entries()) {
    const stemmed = languages.stems === FOREIGN && index >= MOST_GUESSED ? NO_LANGUAGE : languages.stems;
    for (const { terms, counts } of alternatives(item, { ...languages, stems: stemmed })) {
      all.add(terms);
      if (counts) counting.add(terms);
    }
  }
  return { words: counting.words.length > 0 ? counting.words : all.words, isForeign: evidence.best.lead > 0 };
}

/** In which languages a query's words are stemmed beside English, and of which its stop words are left out. */
interface QueryLanguages {
  stems: LanguageSet;
  stopWords: LanguageSet;
}

/** A query is short, so what it says of its language excludes others only where it says something. */
function languagesOf(evidence: LanguageEvidence): QueryLanguages {
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
    .slice(0, MOST_ALTERNATIVES - 1);
}

/** Words of a query by the terms that stand for them. */
class Alternatives {
  readonly #byTerm = new Map<string, string[]>();

  /** Adds a word, to another one that shares a term with it if there is one. */
  add(terms: readonly string[]): void {
    const shared = terms.find((term) => this.#byTerm.has(term));
    const word = shared === undefined ? [] : (this.#byTerm.get(shared) as string[]);
    for (const term of terms) {
      if (this.#byTerm.has(term) || word.length >= MOST_ALTERNATIVES) continue;
      word.push(term);
      this.#byTerm.set(term, word);
    }
  }

  get words(): string[][] {
    return [...new Set(this.#byTerm.values())];
  }
}
