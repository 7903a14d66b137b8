import { stemmer as arabic } from '@orama/stemmers/arabic';
import { stemmer as danish } from '@orama/stemmers/danish';
import { stemmer as dutch } from '@orama/stemmers/dutch';
import { stemmer as finnish } from '@orama/stemmers/finnish';
import { stemmer as french } from '@orama/stemmers/french';
import { stemmer as german } from '@orama/stemmers/german';
import { stemmer as greek } from '@orama/stemmers/greek';
import { stemmer as hungarian } from '@orama/stemmers/hungarian';
import { stemmer as hindi } from '@orama/stemmers/indian';
import { stemmer as indonesian } from '@orama/stemmers/indonesian';
import { stemmer as irish } from '@orama/stemmers/irish';
import { stemmer as italian } from '@orama/stemmers/italian';
import { stemmer as lithuanian } from '@orama/stemmers/lithuanian';
import { stemmer as norwegian } from '@orama/stemmers/norwegian';
import { stemmer as portuguese } from '@orama/stemmers/portuguese';
import { stemmer as romanian } from '@orama/stemmers/romanian';
import { stemmer as russian } from '@orama/stemmers/russian';
import { stemmer as spanish } from '@orama/stemmers/spanish';
import { stemmer as swedish } from '@orama/stemmers/swedish';
import { stemmer as tamil } from '@orama/stemmers/tamil';
import { stemmer as turkish } from '@orama/stemmers/turkish';
import { fold } from './fold.ts';
import {
  ARABIC_FUNCTION_WORDS,
  CYRILLIC_FUNCTION_WORDS,
  ENGLISH_EVIDENCE,
  FUNCTION_WORDS,
  GREEK_FUNCTION_WORDS,
  HINDI_FUNCTION_WORDS,
  STOP_WORDS,
} from './function-words.ts';

type Stem = (word: string) => string;

/** A language in Latin letters other than English. */
interface LatinLanguage {
  stem: Stem;
  functionWords: string;
  /** Lower-case letters of the language beyond a to z. */
  letters: string;
}

const LATIN: readonly LatinLanguage[] = [
  { stem: german, functionWords: FUNCTION_WORDS.german, letters: 'äöüß' },
  { stem: french, functionWords: FUNCTION_WORDS.french, letters: 'àâæçéèêëîïôœùûüÿ' },
  { stem: spanish, functionWords: FUNCTION_WORDS.spanish, letters: 'áéíñóúü' },
  { stem: portuguese, functionWords: FUNCTION_WORDS.portuguese, letters: 'áâãàçéêíóôõú' },
  { stem: italian, functionWords: FUNCTION_WORDS.italian, letters: 'àèéìíîòóùú' },
  { stem: dutch, functionWords: FUNCTION_WORDS.dutch, letters: 'äëïéèóöü' },
  { stem: swedish, functionWords: FUNCTION_WORDS.swedish, letters: 'åäöé' },
  { stem: danish, functionWords: FUNCTION_WORDS.danish, letters: 'æøåé' },
  { stem: norwegian, functionWords: FUNCTION_WORDS.norwegian, letters: 'æøåéòôê' },
  { stem: finnish, functionWords: FUNCTION_WORDS.finnish, letters: 'äöåšž' },
  { stem: hungarian, functionWords: FUNCTION_WORDS.hungarian, letters: 'áéíóöőúüű' },
  // The stemmer expects the letters with a cedilla of older keyboards.
  {
    stem: (word) => romanian(word.replaceAll('ș', 'ş').replaceAll('ț', 'ţ')),
    functionWords: FUNCTION_WORDS.romanian,
    letters: 'ăâîșțşţ',
  },
  { stem: turkish, functionWords: FUNCTION_WORDS.turkish, letters: 'çğıöşüâîû' },
  { stem: indonesian, functionWords: FUNCTION_WORDS.indonesian, letters: 'é' },
  { stem: irish, functionWords: FUNCTION_WORDS.irish, letters: 'áéíóú' },
  { stem: lithuanian, functionWords: FUNCTION_WORDS.lithuanian, letters: 'ąčęėįšųūž' },
];

/** Number of English. The other languages in Latin letters have the numbers from 1. */
export const ENGLISH = 0;
const LANGUAGE_COUNT = LATIN.length + 1;

/** A set of languages, as bits: 1 << number. */
export type LanguageSet = number;
export const NO_LANGUAGE: LanguageSet = 0;
const ANY_LANGUAGE: LanguageSet = -1;

export function languageSet(language: number): LanguageSet {
  return 1 << language;
}

/** All languages in Latin letters except English. */
export const FOREIGN: LanguageSet = 2 ** LANGUAGE_COUNT - 2;

/** Returns the number of the first language of a set that is not empty. */
export function firstLanguage(set: LanguageSet): number {
  return 31 - Math.clz32(set & -set);
}

/** Returns the numbers of the languages of a set, ascending. */
export function* languagesIn(set: LanguageSet): Iterable<number> {
  for (let rest = set; rest !== NO_LANGUAGE; rest &= rest - 1) yield firstLanguage(rest);
}

/** Returns the folded stem of a word in a language other than English. `written` is in lower case, with accents. */
export function stemIn(language: number, written: string): string {
  return fold((LATIN[language - 1] as LatinLanguage).stem(written));
}

function words(list: string): string[] {
  return list.trim().split(/\s+/).map(fold);
}

const functionWordIn = new Map<string, LanguageSet>();
for (const [index, { functionWords }] of LATIN.entries()) {
  for (const word of words(functionWords)) {
    functionWordIn.set(word, (functionWordIn.get(word) ?? NO_LANGUAGE) | languageSet(index + 1));
  }
}

const letterIn = new Map<string, LanguageSet>();
for (const [index, { letters }] of LATIN.entries()) {
  for (const letter of letters) {
    letterIn.set(letter, (letterIn.get(letter) ?? NO_LANGUAGE) | languageSet(index + 1));
  }
}

/**
 * Returns the languages in which a folded word is a stop word. For a script that is treated as one language, the result
 * is all languages or none.
 */
export function stopWordIn(folded: string): LanguageSet {
  if (!ASCII.test(folded)) return getScript(folded)?.stopWords.has(folded) ? ANY_LANGUAGE : NO_LANGUAGE;
  const foreign = functionWordIn.get(folded) ?? NO_LANGUAGE;
  return STOP_WORDS.has(folded) ? foreign | languageSet(ENGLISH) : foreign;
}

const LETTERS = /^\p{sc=Latin}+$/u;
const PLAIN = /^[a-z]+$/;
const ASCII = /^[\0-\x7f]*$/;

/** Returns the languages other than English whose alphabet has all letters of a lower-case word. */
export function spelledIn(written: string): LanguageSet {
  if (PLAIN.test(written)) return FOREIGN;
  if (!LETTERS.test(written)) return NO_LANGUAGE;
  let languages = FOREIGN;
  for (const letter of written) {
    if (letter > 'z') languages &= letterIn.get(letter) ?? NO_LANGUAGE;
  }
  return languages;
}

/**
 * Returns the languages that a word indicates: the languages in which the word is a function word; or, for any other
 * word with letters beyond a to z, the languages that have all its letters. A single letter indicates no language.
 */
export function getEvidence(written: string, folded: string): LanguageSet {
  if (written.length === 1) return NO_LANGUAGE;
  const foreign = functionWordIn.get(folded) ?? NO_LANGUAGE;
  if (PLAIN.test(written)) return ENGLISH_EVIDENCE.has(folded) ? foreign | languageSet(ENGLISH) : foreign;
  const spelled = spelledIn(written);
  return foreign & spelled || spelled;
}

/** A script whose words are all treated as one language. */
interface Script {
  letter: RegExp;
  stem: Stem;
  stopWords: ReadonlySet<string>;
}

function createScript(letter: RegExp, stem: Stem, functionWords: string): Script {
  return { letter, stem, stopWords: new Set(words(functionWords)) };
}

const SCRIPTS: readonly Script[] = [
  createScript(/^\p{sc=Cyrillic}/u, russian, CYRILLIC_FUNCTION_WORDS),
  createScript(/^\p{sc=Greek}/u, greek, GREEK_FUNCTION_WORDS),
  createScript(/^\p{sc=Arabic}/u, arabic, ARABIC_FUNCTION_WORDS),
  createScript(/^\p{sc=Devanagari}/u, hindi, HINDI_FUNCTION_WORDS),
  createScript(/^\p{sc=Tamil}/u, tamil, ''),
];

/** Returns the script of a folded word's first letter; undefined if words of this script are not stemmed. */
export function getScript(folded: string): Script | undefined {
  return SCRIPTS.find(({ letter }) => letter.test(folded));
}

/** Collects the evidence of a text's words for languages in Latin letters. */
export class LanguageEvidence {
  readonly #words: number[] = new Array(LANGUAGE_COUNT).fill(0);

  /** Adds a word to the number of words of each of these languages. */
  add(languages: LanguageSet): void {
    for (let rest = languages; rest !== 0; rest &= rest - 1) {
      const language = 31 - Math.clz32(rest & -rest);
      this.#words[language] = (this.#words[language] as number) + 1;
    }
  }

  /** The languages other than English with the most words, and their lead over English in words. */
  get best(): { languages: LanguageSet; lead: number } {
    let maxWords = 0;
    let languages = NO_LANGUAGE;
    for (let language = ENGLISH + 1; language < LANGUAGE_COUNT; language += 1) {
      const words = this.#words[language] as number;
      if (words > maxWords) languages = NO_LANGUAGE;
      maxWords = Math.max(maxWords, words);
      if (words > 0 && words === maxWords) languages |= languageSet(language);
    }
    return { languages, lead: maxWords - (this.#words[ENGLISH] as number) };
  }
}
