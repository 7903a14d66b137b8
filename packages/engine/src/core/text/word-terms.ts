import snowball from 'snowball-stemmers';
import { fold } from './fold.ts';
import { STOP_WORDS } from './stop-words.ts';

/** One place in an index. `counts`: it tells what a text is about, and so takes part in scores and lengths. */
export interface Term {
  readonly text: string;
  readonly counts: boolean;
}

const porter = snowball.newStemmer('porter');

/** Longest word that is kept whole, in UTF-16 units. */
export const LONGEST_WORD = 64;

const LONGEST_CACHED = 12;
const CACHE_ENTRIES = 32_768;
const cache = new Map<string, readonly Term[]>();

/**
 * The terms of one written word: the word itself, folded and stemmed, and then its parts where a change of case or
 * between letters and digits shows some (`fooBar`, `5pm`).
 */
export function wordTerms(word: string): readonly Term[] {
  // A longer piece of a text may be kept by the runtime as a view that holds on to the whole text.
  if (word.length > LONGEST_CACHED) return derive(word);
  let terms = cache.get(word);
  if (terms === undefined) {
    terms = derive(word);
    if (cache.size >= CACHE_ENTRIES) cache.clear();
    cache.set(word, terms);
  }
  return terms;
}

function derive(word: string): Term[] {
  const terms: Term[] = [];
  const whole = fold(word);
  if (whole !== '') terms.push(toTerm(whole));
  for (const part of parts(word)) {
    const folded = fold(part);
    if (folded !== '' && !SINGLE_LETTER.test(folded)) terms.push(toTerm(folded));
  }
  return terms;
}

const SINGLE_LETTER = /^\p{L}$/u;
const DIGITS = /\p{Nd}+/gu;
const BORDER = /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll}{2})|(?<=\p{L})(?=\p{Nd})|(?<=\p{Nd})(?=\p{L})/u;

/** Several groups of digits show a key or a digest, whose pieces mean nothing. */
function parts(word: string): string[] {
  if ((word.match(DIGITS)?.length ?? 0) > 1) return [];
  const pieces = word.normalize('NFC').split(BORDER);
  return pieces.length > 1 ? pieces : [];
}

const ENGLISH = /^[a-z]{3,}$/;
const LEADING_ZEROS = /^0+(?=[0-9]+$)/;

/** Stop words stay unstemmed, or "his" would be found as "hi". */
function toTerm(word: string): Term {
  // One compatibility character may fold to as many as 18.
  const folded = word.slice(0, LONGEST_WORD);
  if (STOP_WORDS.has(folded)) return { text: folded, counts: false };
  if (ENGLISH.test(folded)) return { text: porter.stem(folded), counts: true };
  return { text: folded.replace(LEADING_ZEROS, ''), counts: true };
}
