import { fold } from './fold.ts';

/** What ranking needs to know of a text besides its terms. */
export interface Traits {
  /** A number that stands for who speaks, from what stands before the first colon; 0 where nobody is named. */
  speaker: number;
  /** Bits of `MARKS`. */
  marks: number;
}

/** One bit each. */
const MARKS = {
  /** The text ends with a question mark, of any script. */
  question: 1,
} as const;

/** Longest name of a speaker, in UTF-16 units. */
const LONGEST_NAME = 40;
const NAME = new RegExp(`^[\\p{L}\\p{N}][^\\n:：.?!,;]{0,${LONGEST_NAME - 1}}(?=[:：]\\s)`, 'u');
const LAST_SIGN = /[?？؟⸮;՞፧⁇]["'”’»)\]\s]*$/u;

/** Most UTF-16 units that are looked at from the end of a text. */
const LOOKED_AT = 16;

export function traitsOf(text: string): Traits {
  const name = NAME.exec(text.slice(0, LONGEST_NAME + 2))?.[0];
  return {
    speaker: name === undefined ? 0 : nameNumber(name),
    marks: LAST_SIGN.test(text.slice(-LOOKED_AT)) ? MARKS.question : 0,
  };
}

/** A number from 1 for a name, the same however it is cased or accented (FNV-1a, Fowler, Noll and Vo). */
function nameNumber(name: string): number {
  let number = 0x811c9dc5;
  for (const unit of fold(name)) number = Math.imul(number ^ (unit.codePointAt(0) as number), 0x01000193);
  return number >>> 0 || 1;
}
