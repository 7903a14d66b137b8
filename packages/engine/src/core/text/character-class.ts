/** What a character means for where words begin and end. */
export const CharacterClass = {
  /** Ends a word and is no term: spaces, punctuation, ASCII signs. */
  separator: 1,
  /** Letters and numbers of scripts that set spaces between words. */
  word: 2,
  /** Belongs to what stands before it and starts nothing: combining marks, invisible joiners, skin tones. */
  extend: 3,
  /** Letters of scripts that set no spaces between words, and Hangul, which glues particles to its words. */
  unspaced: 4,
  /** A term by itself: emoji, currency, arrows. */
  symbol: 5,
  /** Half of a flag. */
  regional: 6,
} as const;
export type CharacterClass = (typeof CharacterClass)[keyof typeof CharacterClass];

/** Classes found so far, by code point; 0 is not looked up yet. */
const known = new Uint8Array(0x110000);

/** The class of a code point, by its Unicode properties. */
export function classOf(codePoint: number): CharacterClass {
  const found = known[codePoint] as CharacterClass | 0;
  if (found !== 0) return found;
  const derived = classify(String.fromCodePoint(codePoint));
  known[codePoint] = derived;
  return derived;
}

// A zero-width space is meant to part words; the modifier apostrophe U+02BC counts with the other apostrophes; the
// fraction slash joins two numbers.
const SEPARATOR = /[\u200b\u02bc\u2044]/;
// Beside marks: jamo that complete a syllable, and the half-width voicing signs of kana.
const EXTEND = /[\p{M}\p{Default_Ignorable_Code_Point}\p{Emoji_Modifier}\u1160-\u11ff\ud7b0-\ud7ff\uff9e\uff9f]/u;
const LETTER_OR_NUMBER = /[\p{L}\p{N}]/u;
const UNSPACED =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/u;
// They decompose into two numbers, which would join those around them.
const VULGAR_FRACTION = /[\u00bc-\u00be\u2150-\u215f\u2189]/;
const REGIONAL = /\p{Regional_Indicator}/u;
// Extended_Pictographic holds places for the emoji of coming Unicode versions, so that they need no newer runtime.
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
