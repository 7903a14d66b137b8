import { stemmer as porter } from 'stemmer';
import { copyString, fold } from './fold.ts';
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

/**
 * An index term. `counts` is true for a content word or another term about the topic of a text. Only such terms add to
 * the length of a text. A query uses other terms only if it has no such term.
 */
export interface Term {
  readonly text: string;
  readonly counts: boolean;
}

/** Prefix of stems in languages other than English, so that they differ from English words. */
const FOREIGN_STEM_PREFIX = '~';

/** A word with its terms, and its properties in the languages that the text may be in. */
export class Word {
  readonly folded: string;
  /**
   * First the word itself, folded and stemmed in the language of its script, which is English for Latin letters. Then
   * the parts of a word that a change of case, or from letters to digits or back, separates (`fooBar`, `5pm`). `counts`
   * of these terms applies to texts in English.
   */
  readonly terms: readonly Term[];
  /** The parts of the word as in `terms`, folded and not stemmed. */
  readonly parts: readonly string[];
  /** Languages that the word indicates; see `getEvidence`. */
  readonly evidence: LanguageSet;
  /**
   * Languages other than English in which the word can be stemmed. Empty for words that are short, have digits or
   * several parts, or are of other scripts.
   */
  readonly stemmedIn: LanguageSet;
  readonly #stopWordIn: LanguageSet;
  readonly #written: string;
  readonly #stems: string[] = [];

  constructor(written: string) {
    const folded = fold(written).slice(0, MAX_WORD_CHARS);
    this.folded = folded;
    const whole = toTerm(folded);
    const pieces = splitIntoParts(written).map(fold);
    this.parts = pieces.filter((piece) => !SINGLE_LETTER.test(piece));
    this.terms = [whole, ...this.parts.map(toTerm)].filter((term) => term.text !== '');
    this.#written = pieces.length > 0 ? '' : lowerCase(written);
    this.evidence = getEvidence(this.#written, folded);
    this.#stopWordIn = stopWordIn(folded);
    this.stemmedIn = folded.length < MIN_STEMMED_CHARS ? NO_LANGUAGE : spelledIn(this.#written);
  }

  /**
   * Whether the word is a content word in a text that may be in any of these languages: a stop word in none of them.
   */
  countsIn(languages: LanguageSet): boolean {
    return (this.#stopWordIn & languages) === NO_LANGUAGE;
  }

  /** Returns the term for the stem in a language of `stemmedIn`. */
  foreignStem(language: number): string {
    return (this.#stems[language] ??= FOREIGN_STEM_PREFIX + stemIn(language, this.#written));
  }
}

/** Maximum length of a word in UTF-16 units; longer words are cut into pieces. */
export const MAX_WORD_CHARS = 64;

const MIN_STEMMED_CHARS = 3;
const MAX_CACHED_CHARS = 24;
const CACHE_ENTRIES = 32_768;
const cache = new Map<string, Word>();

export function toWord(written: string): Word {
  if (written.length > MAX_CACHED_CHARS) return new Word(written);
  let word = cache.get(written);
  if (word === undefined) {
    const copy = copyString(written);
    word = new Word(copy);
    if (cache.size >= CACHE_ENTRIES) cache.clear();
    cache.set(copy, word);
  }
  return word;
}

/**
 * Normalizes to NFC and converts to lower case. Removes U+0307, the combining dot that lower-casing the Turkish İ
 * leaves after the i.
 */
function lowerCase(word: string): string {
  return word.normalize('NFC').toLowerCase().replaceAll('i\u0307', 'i');
}

const SINGLE_LETTER = /^\p{L}$/u;
const DIGITS = /\p{Nd}+/gu;
const BORDER = /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll}{2})|(?<=\p{L})(?=\p{Nd})|(?<=\p{Nd})(?=\p{L})/u;

const WITHOUT_PARTS = /^[A-Z]?[a-z]*$/;

/**
 * Returns the parts of a compound word. A word with several groups of digits is probably a key or a digest, whose parts
 * have no meaning; the result is then empty.
 */
function splitIntoParts(word: string): string[] {
  if (WITHOUT_PARTS.test(word)) return [];
  if ((word.match(DIGITS)?.length ?? 0) > 1) return [];
  const pieces = word.normalize('NFC').split(BORDER);
  return pieces.length > 1 ? pieces : [];
}

const PLAIN = /^[a-z]{3,}$/;
const LEADING_ZEROS = /^0+(?=[0-9]+$)/;

/** Suffix of an English stem that is spelled like a stop word: the stem of "use" is "us". */
const NO_STOP_WORD_SUFFIX = '~';

/** Stop words are not stemmed; otherwise "his" would match "hi". */
function toTerm(folded: string): Term {
  const counts = !isEnglishStopWord(folded);
  return { text: counts ? stem(folded) : folded, counts };
}

function stem(folded: string): string {
  if (!PLAIN.test(folded)) return getScript(folded)?.stem(folded) ?? folded.replace(LEADING_ZEROS, '');
  const english = porter(folded);
  return isEnglishStopWord(english) ? english + NO_STOP_WORD_SUFFIX : english;
}

function isEnglishStopWord(folded: string): boolean {
  return (stopWordIn(folded) & languageSet(ENGLISH)) !== NO_LANGUAGE;
}
