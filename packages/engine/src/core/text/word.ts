import { stemmer as porter } from 'stemmer';
import { fold, ownCopy } from './fold.ts';
import {
  ENGLISH,
  getEvidence,
  getScript,
  type LanguageSet,
  languageSet,
  NO_LANGUAGE,
  spelledIn,
  stemIn,
  stopWordIn,
} from './languages.ts';

/** One place in an index. `counts`: it tells what a text is about, and so takes part in scores and lengths. */
export interface Term {
  readonly text: string;
  readonly counts: boolean;
}

/** Begins the terms that stems in languages other than English are, so that no English word is taken for one. */
const FOREIGN_STEM = '~';

/** A written word with its terms, and what it is in the languages that the text around it may be in. */
export class Word {
  /**
   * The word itself, folded and stemmed in the language of its script, English for Latin letters; then its parts where
   * a change of case or between letters and digits shows some (`fooBar`, `5pm`). Whether they count is said for a text
   * in English.
   */
  readonly terms: readonly Term[];
  /** Languages of which it is evidence. */
  readonly evidence: LanguageSet;
  /** Languages other than English in which it can be stemmed; none for words with digits, in parts, or of other scripts. */
  readonly stemmedIn: LanguageSet;
  readonly #stopWordIn: LanguageSet;
  readonly #written: string;
  readonly #stems: string[] = [];

  constructor(written: string) {
    const folded = fold(written).slice(0, MAX_WORD_CHARS);
    const whole = toTerm(folded);
    const pieces = parts(written).map(fold);
    this.terms = [whole, ...pieces.filter((piece) => !SINGLE_LETTER.test(piece)).map(toTerm)].filter(
      (term) => term.text !== '',
    );
    this.#written = pieces.length > 0 ? '' : lowerCase(written);
    this.evidence = getEvidence(this.#written, folded);
    this.#stopWordIn = stopWordIn(folded);
    this.stemmedIn = folded.length < MIN_STEMMED_CHARS ? NO_LANGUAGE : spelledIn(this.#written);
  }

  /** Whether the word itself counts in a text that may be in any of these languages. */
  countsIn(languages: LanguageSet): boolean {
    return (this.#stopWordIn & languages) === NO_LANGUAGE;
  }

  /** The term that its stem in a language of `stemmedIn` is. */
  foreignStem(language: number): string {
    return (this.#stems[language] ??= FOREIGN_STEM + stemIn(language, this.#written));
  }
}

/** Longest word that is kept whole, in UTF-16 units. */
export const MAX_WORD_CHARS = 64;

const MIN_STEMMED_CHARS = 3;
const MAX_CACHED_CHARS = 24;
const CACHE_ENTRIES = 32_768;
const cache = new Map<string, Word>();

export function toWord(written: string): Word {
  if (written.length > MAX_CACHED_CHARS) return new Word(written);
  let word = cache.get(written);
  if (word === undefined) {
    const copy = ownCopy(written);
    word = new Word(copy);
    if (cache.size >= CACHE_ENTRIES) cache.clear();
    cache.set(copy, word);
  }
  return word;
}

/** Lower case with accents; the dot that a Turkish capital leaves over its i is none. */
function lowerCase(word: string): string {
  return word.normalize('NFC').toLowerCase().replaceAll('i\u0307', 'i');
}

const SINGLE_LETTER = /^\p{L}$/u;
const DIGITS = /\p{Nd}+/gu;
const BORDER = /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll}{2})|(?<=\p{L})(?=\p{Nd})|(?<=\p{Nd})(?=\p{L})/u;

const WITHOUT_PARTS = /^[A-Z]?[a-z]*$/;

/** Several groups of digits show a key or a digest, whose pieces mean nothing. */
function parts(word: string): string[] {
  if (WITHOUT_PARTS.test(word)) return [];
  if ((word.match(DIGITS)?.length ?? 0) > 1) return [];
  const pieces = word.normalize('NFC').split(BORDER);
  return pieces.length > 1 ? pieces : [];
}

const PLAIN = /^[a-z]{3,}$/;
const LEADING_ZEROS = /^0+(?=[0-9]+$)/;

/** Stop words stay unstemmed, or "his" would be found as "hi". */
function toTerm(folded: string): Term {
  const counts = (stopWordIn(folded) & languageSet(ENGLISH)) === NO_LANGUAGE;
  return { text: counts ? stem(folded) : folded, counts };
}

function stem(folded: string): string {
  if (PLAIN.test(folded)) return porter(folded);
  return getScript(folded)?.stem(folded) ?? folded.replace(LEADING_ZEROS, '');
}
