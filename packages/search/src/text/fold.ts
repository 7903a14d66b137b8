/**
 * Replacements for letters that Unicode does not decompose. Latin letters get their spelling on a keyboard without the
 * letter; variants of an Arabic letter become one letter; the Greek final sigma becomes sigma; the Hindi candrabindu
 * becomes anusvara.
 */
const SPELLINGS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ħ: 'h',
  ı: 'i',
  ς: 'σ',
  ى: 'ي',
  ی: 'ي',
  ک: 'ك',
  ہ: 'ه',
  'ँ': 'ं',
};
const SPELLED_LETTER = new RegExp(`[${Object.keys(SPELLINGS).join('')}]`, 'g');

// Marks that writers often omit: accents, vowel points, the mark of a keycap, the dot that Hindi sets under borrowed
// consonants. In Cyrillic, the breve and the diaeresis make other letters (й, ї), except that ё is commonly written е.
// Indic and other scripts spell vowels with marks, so their marks stay.
const OPTIONAL_MARKS = /([\p{sc=Latin}\p{sc=Greek}\p{sc=Arabic}\p{sc=Hebrew}\p{N}])\p{M}+/gu;
const CYRILLIC_MARKS = /(\p{sc=Cyrillic})(\p{M}+)/gu;
const OPTIONAL_CYRILLIC_MARKS = /(?!\u0306|\u0308)\p{M}/gu;
const CYRILLIC_IE = '\u0435';
// Invisible characters, and the tatweel, which only stretches a word.
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\u0640]/gu;
const NUKTA = /\u093c/g;
const NOT_WORD = /[^\p{L}\p{N}\p{M}]/gu;
const PLAIN = /^[a-z0-9]*$/;
const PLAIN_CASED = /^[A-Za-z0-9]*$/;

const DIGIT = /\p{Nd}/u;
const OTHER_DIGIT = /[^\P{Nd}0-9]/gu;
const OTHER_DIGIT_OF_ONE_UNIT = /[^\P{Nd}0-9\u{10000}-\u{10ffff}]/gu;
const asciiDigits = new Map<string, string>();

/** Returns the ASCII digit of the same value. Unicode encodes the digits of a script in order, starting with zero. */
function toAsciiDigit(digit: string): string {
  const known = asciiDigits.get(digit);
  if (known !== undefined) return known;
  const codePoint = digit.codePointAt(0) as number;
  let start = codePoint;
  while (DIGIT.test(String.fromCodePoint(start - 1))) start -= 1;
  const ascii = String((codePoint - start) % 10);
  asciiDigits.set(digit, ascii);
  return ascii;
}

/** Replaces the digits of other scripts with ASCII digits, without changing the positions of other characters. */
export function foldDigits(text: string): string {
  return text.replace(OTHER_DIGIT_OF_ONE_UNIT, toAsciiDigit);
}

/**
 * Normalizes a word for comparison: compatibility forms (full width, ligatures, superscripts) become plain, digits
 * become ASCII digits, letters become lower case, and optional marks are removed. Equal words in any Unicode normal form become equal. For short
 * texts only, since normalization takes quadratic time for long runs of marks.
 */
export function fold(word: string): string {
  if (PLAIN_CASED.test(word)) return word.toLowerCase();
  const decomposed = word.replace(INVISIBLE, '').normalize('NFKD').toLowerCase().replace(OPTIONAL_MARKS, '$1');
  if (PLAIN.test(decomposed)) return decomposed;
  return decomposed
    .replace(CYRILLIC_MARKS, (_, base: string, marks: string) =>
      base === CYRILLIC_IE ? base : base + marks.replace(OPTIONAL_CYRILLIC_MARKS, ''),
    )
    .replace(NUKTA, '')
    .replace(OTHER_DIGIT, toAsciiDigit)
    .replace(SPELLED_LETTER, (letter) => SPELLINGS[letter] as string)
    .normalize('NFC')
    .replace(NOT_WORD, '');
}

/**
 * Returns a copy of a substring of at most 16,384 UTF-16 units, for a substring that is stored longer than its text.
 * Without a copy, the runtime may represent the substring as a view that retains the whole text.
 */
export function copyString(piece: string): string {
  const units: number[] = [];
  for (let at = 0; at < piece.length; at += 1) units.push(piece.charCodeAt(at));
  return String.fromCharCode(...units);
}
