import { fold, foldDigits } from './fold.ts';
import { foldHan, HAN } from './han.ts';
import { MAX_WORD_CHARS, toWord, type Word } from './word.ts';

/**
 * Receives the words of a text in order, and the terms that are not words, with their positions. `counts` is true for a
 * term about the topic of the text.
 */
export interface Visitor {
  word(word: Word, start: number, end: number): void;
  term(term: string, counts: boolean, start: number, end: number): void;
}

/** Maximum UTF-16 units of one letter with its marks. */
const MAX_LETTER_UNITS = 16;

/** Visits the words and terms of a text in order, in linear time. */
export function scan(written: string, visitor: Visitor): void {
  const text = foldDigits(written);
  let at = 0;
  while (at < text.length) {
    const codePoint = text.codePointAt(at) as number;
    switch (getClass(codePoint)) {
      case CharacterClass.word:
        at = scanWord(text, at, visitor);
        break;
      case CharacterClass.unspaced:
        at = scanUnspaced(text, at, visitor);
        break;
      case CharacterClass.symbol:
        at = scanSymbol(text, at, codePoint, visitor);
        break;
      case CharacterClass.regional:
        at = scanFlag(text, at, visitor);
        break;
      default:
        at += getWidth(codePoint);
    }
  }
}

function getWidth(codePoint: number): number {
  return codePoint > 0xffff ? 2 : 1;
}

function getClassAt(text: string, at: number): CharacterClass {
  return at < text.length ? getClass(text.codePointAt(at) as number) : CharacterClass.separator;
}

const PLUS = 0x2b;
const HASH = 0x23;

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

// Sticky and of bounded length, so that each match takes constant time.
const GROUPED_NUMBER = /[0-9]{1,3}(?:,[0-9]{3}){1,6}(?![0-9])/y;
const LANGUAGE_SIGN = /(?:\+\+|#)(?![\p{L}\p{N}+#])/uy;

/** Numbers joined by one sign: an address, a version, a date. */
const JOINED_NUMBERS = /v?([0-9]{1,16}([.:/-])[0-9]{1,16}(?:\2[0-9]{1,16}){0,8})(?!\2?\p{N})/iuy;
const JOINTS = '.:/-';
const SMALL_V = 0x76;
const LARGE_V = 0x56;

function scanWord(text: string, start: number, visitor: Visitor): number {
  scanJoinedNumbers(text, start, visitor);
  const grouped = isDigit(text.charCodeAt(start)) ? matchAt(GROUPED_NUMBER, text, start) : '';
  if (grouped) {
    visitor.term(grouped.replaceAll(',', ''), true, start, start + grouped.length);
    return start + grouped.length;
  }
  const plainEnd = findWordEnd(text, start);
  const { word, end } = withoutClitics(text, text.slice(start, plainEnd), plainEnd);
  visitor.word(toWord(word), start, end);
  const after = text.charCodeAt(end);
  const sign = after === PLUS || after === HASH ? matchAt(LANGUAGE_SIGN, text, end) : '';
  const signEnd = end + sign.length;
  if (sign) visitor.term(fold(word).slice(0, MAX_WORD_CHARS) + sign, true, start, signEnd);
  return signEnd;
}

/**
 * Visits joined numbers as one term in addition to their parts, so that 10.0.1.25 differs from 10.25.0.1. Prefixes,
 * such as 10.0.1, are visited with `counts` false.
 */
function scanJoinedNumbers(text: string, start: number, visitor: Visitor): void {
  const first = text.charCodeAt(start);
  // A fast check that excludes most words; the pattern alone would take a twelfth of the time of analyzing a text.
  if (!isDigit(first) && first !== SMALL_V && first !== LARGE_V) return;
  const isWithin = isDigit(text.charCodeAt(start - 2)) && JOINTS.includes(text.charAt(start - 1));
  if (isWithin) return;
  JOINED_NUMBERS.lastIndex = start;
  const [, numbers = '', joint = ''] = JOINED_NUMBERS.exec(text) ?? [];
  const from = text.indexOf(numbers, start);
  for (let at = numbers.indexOf(joint) + 1; numbers !== '' && at > 0; ) {
    const next = numbers.indexOf(joint, at);
    const end = next < 0 ? numbers.length : next;
    visitor.term(numbers.slice(0, Math.min(end, MAX_WORD_CHARS)), next < 0, from, from + end);
    at = next + 1;
  }
}

function matchAt(sticky: RegExp, text: string, at: number): string {
  sticky.lastIndex = at;
  return sticky.exec(text)?.[0] ?? '';
}

/** Returns the end of a word. A word longer than the maximum is cut into pieces. */
function findWordEnd(text: string, start: number): number {
  const limit = Math.min(text.length, start + MAX_WORD_CHARS);
  let end = start;
  while (end < limit) {
    const codePoint = text.codePointAt(end) as number;
    const found = getClass(codePoint);
    if (found !== CharacterClass.word && found !== CharacterClass.extend) break;
    end += getWidth(codePoint);
  }
  return end;
}

const APOSTROPHES = "'’‘ʼ＇";
const CLITICS: ReadonlySet<string> = new Set(['s', 'm', 'd', 're', 've', 'll']);

/**
 * Removes clitics (Caroline's, I'm). Appends the t of n't to the word (don't becomes dont), since n't negates the word.
 */
function withoutClitics(text: string, plain: string, plainEnd: number): { word: string; end: number } {
  let word = plain;
  let end = plainEnd;
  while (end < text.length && APOSTROPHES.includes(text.charAt(end))) {
    const tailEnd = findWordEnd(text, end + 1);
    const tail = text.slice(end + 1, tailEnd).toLowerCase();
    if (tail === 't' && /n$/i.test(word)) word += tail;
    else if (!CLITICS.has(tail)) break;
    end = tailEnd;
  }
  return { word, end };
}

/**
 * Visits pairs of adjacent letters as the words of a script without spaces. Also visits single letters, so that a query
 * of one letter matches; `counts` is true only for a letter without adjacent letters.
 */
function scanUnspaced(text: string, start: number, visitor: Visitor): number {
  let before = '';
  let beforeAt = start;
  let at = start;
  let inside = true;
  while (inside) {
    const end = findLetterEnd(text, at);
    const letter = foldLetter(text.slice(at, Math.min(end, at + MAX_LETTER_UNITS)));
    inside = getClassAt(text, end) === CharacterClass.unspaced;
    if (before !== '') visitor.term(before + letter, true, beforeAt, end);
    visitor.term(letter, before === '' && !inside, at, end);
    before = letter;
    beforeAt = at;
    at = end;
  }
  return at;
}

function findLetterEnd(text: string, start: number): number {
  let end = start + getWidth(text.codePointAt(start) as number);
  while (getClassAt(text, end) === CharacterClass.extend) end += getWidth(text.codePointAt(end) as number);
  return end;
}

/** Letters that `fold` does not change, which covers nearly all of Japanese and Korean that is not Han. */
const FOLDED_LETTER = /^[\u3041-\u3096\u30a1-\u30fa\u30fc\uac00-\ud7a3]$/;

function foldLetter(letter: string): string {
  if (FOLDED_LETTER.test(letter)) return letter;
  return HAN.test(letter) ? foldHan(letter.normalize('NFKC')) : fold(letter);
}

/** A repeated symbol is one term, so that a line drawn with symbols is not a long text. */
function scanSymbol(text: string, start: number, codePoint: number, visitor: Visitor): number {
  let end = findLetterEnd(text, start);
  visitor.term(String.fromCodePoint(codePoint), true, start, end);
  while (text.codePointAt(end) === codePoint) end = findLetterEnd(text, end);
  return end;
}

function scanFlag(text: string, start: number, visitor: Visitor): number {
  const half = start + 2;
  const end = getClassAt(text, half) === CharacterClass.regional ? half + 2 : half;
  visitor.term(text.slice(start, end), true, start, end);
  return end;
}

/** Classes of characters for word boundaries. */
const CharacterClass = {
  /** Ends a word and is not a term: spaces, punctuation, ASCII signs. */
  separator: 1,
  /** Letters and numbers of scripts with spaces between words. */
  word: 2,
  /** Continues the previous character: combining marks, invisible joiners, skin tones. */
  extend: 3,
  /** Letters of scripts without spaces between words, and Hangul, which attaches particles to words. */
  unspaced: 4,
  /** A term by itself: emoji, currency, arrows. */
  symbol: 5,
  /** Half of a flag emoji. */
  regional: 6,
} as const;
type CharacterClass = (typeof CharacterClass)[keyof typeof CharacterClass];

/** Cache of classes by code point; 0 is unknown. */
const known = new Uint8Array(0x110000);

/** Returns the class of a code point, derived from its Unicode properties. */
function getClass(codePoint: number): CharacterClass {
  const found = known[codePoint] as CharacterClass | 0;
  if (found !== 0) return found;
  const derived = classify(String.fromCodePoint(codePoint));
  known[codePoint] = derived;
  return derived;
}

// A zero-width space separates words. The modifier apostrophe U+02BC is treated like other apostrophes. The fraction
// slash joins two numbers.
const SEPARATOR = /[\u200b\u02bc\u2044]/;
// In addition to marks: jamo that complete a syllable, and the half-width voicing signs of kana.
const EXTEND = /[\p{M}\p{Default_Ignorable_Code_Point}\p{Emoji_Modifier}\u1160-\u11ff\ud7b0-\ud7ff\uff9e\uff9f]/u;
const LETTER_OR_NUMBER = /[\p{L}\p{N}]/u;
const UNSPACED =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/u;
// Vulgar fractions decompose into two numbers, which would join adjacent numbers.
const VULGAR_FRACTION = /[\u00bc-\u00be\u2150-\u215f\u2189]/;
const REGIONAL = /\p{Regional_Indicator}/u;
// Extended_Pictographic includes code points reserved for future emoji, so that no newer runtime is needed.
const SYMBOL = /[\p{Sm}\p{Sc}\p{So}\p{Co}\p{Extended_Pictographic}]/u;
const ASCII = /[\0-\x7f]/;

function classify(character: string): CharacterClass {
  if (SEPARATOR.test(character)) return CharacterClass.separator;
  if (EXTEND.test(character)) return CharacterClass.extend;
  if (VULGAR_FRACTION.test(character)) return CharacterClass.symbol;
  if (LETTER_OR_NUMBER.test(character)) {
    return UNSPACED.test(character) ? CharacterClass.unspaced : CharacterClass.word;
  }
  if (REGIONAL.test(character)) return CharacterClass.regional;
  if (SYMBOL.test(character) && !ASCII.test(character)) return CharacterClass.symbol;
  return CharacterClass.separator;
}
