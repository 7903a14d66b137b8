import { getGraphemes, getWords } from './segments.ts';

/** A part of a text, in UTF-16 units. */
export interface Part {
  start: number;
  end: number;
}

/**
 * Returns an excerpt around a part of a text: an exact substring of at most `max` UTF-16 units without blanks at its
 * ends. The excerpt starts with a sentence or a line if one starts closely enough before the part, else with a word.
 * The excerpt ends with a word. Only words longer than 64 units, and graphemes longer than `max`, may be cut.
 *
 * @param part at most `max` units, without blanks at its ends
 */
export function cutAround(text: string, part: Part, max: number): string {
  const { start: from, end: to } = toWholeGraphemes(getGraphemes(text), part, max);
  const start = getStart(text, from, to, max);
  return text.slice(start, getEnd(text, start, to, max)).trimEnd();
}

/** Returns a part of a text with whole graphemes at its ends, or the part itself if that is longer than `max` units. */
export function toWholeGraphemes(graphemes: Intl.Segments, part: Part, max: number): Part {
  const { start, end } = part;
  const first = graphemes.containing(start)?.index ?? start;
  const last = end > start ? graphemes.containing(end - 1) : undefined;
  const whole = { start: first, end: last ? last.index + last.segment.length : end };
  return whole.end - whole.start <= max ? whole : part;
}

function getStart(text: string, from: number, to: number, max: number): number {
  const earliest = Math.max(0, to - max);
  // From this position on, the rest of the text fits into `max` units.
  const tail = Math.max(0, text.length - max);
  const sentence = new SentenceStarts(text).findLast(earliest, from);
  const context = max - (to - from);
  const start =
    sentence === undefined
      ? toWordStart(text, Math.max(earliest, Math.min(from - (context >> 1), tail)), from)
      : findFirstSentence(text, tail, sentence);
  const { index, segment } = getGraphemes(text).containing(start) ?? { index: start, segment: '' };
  return index < earliest ? Math.min(index + segment.length, from) : index;
}

/** Returns the first sentence start from `from` to `known`, which is a sentence start itself. */
function findFirstSentence(text: string, from: number, known: number): number {
  for (let at = from; at < known; at += 1) if (beginsSentence(text, at)) return at;
  return known;
}

function getEnd(text: string, start: number, to: number, max: number): number {
  const limit = start + max;
  if (limit >= text.length) return text.length;
  const word = getWordAt(text, limit);
  const end = getGraphemes(text).containing(word.start < to ? limit : word.start)?.index ?? limit;
  const isWithinGrapheme = end < to || end <= start;
  return isWithinGrapheme ? toCodePointStart(text, limit) : end;
}

/** Maximum length of a word that is never cut, in UTF-16 units. */
const MAX_WHOLE_WORD = 64;

/**
 * Returns the word at a position, or the blanks or signs between words; an empty part if the word is longer than
 * `MAX_WHOLE_WORD`.
 */
function getWordAt(text: string, at: number): Part {
  const from = Math.max(0, at - MAX_WHOLE_WORD);
  const found = getWords(text.slice(from, at + MAX_WHOLE_WORD)).containing(at - from);
  if (found === undefined || found.segment.length > MAX_WHOLE_WORD) return { start: at, end: at };
  const start = from + found.index;
  return { start, end: start + found.segment.length };
}

const BLANK = /\s/;

function toWordStart(text: string, at: number, last: number): number {
  const word = getWordAt(text, at);
  let start = word.start === at ? at : Math.min(word.end, last);
  while (start < last && BLANK.test(text.charAt(start))) start += 1;
  return start;
}

function toCodePointStart(text: string, at: number): number {
  return (text.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at;
}

/**
 * Finds starts of sentences and lines in linear time. The positions of successive `findLast` calls must not decrease.
 */
export class SentenceStarts {
  readonly #text: string;
  #last = Number.NEGATIVE_INFINITY;
  #next = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Returns the last start of a sentence or line between two positions, both inclusive. */
  findLast(earliest: number, latest: number): number | undefined {
    for (let at = Math.max(this.#next, earliest); at <= latest; at += 1) {
      if (beginsSentence(this.#text, at)) this.#last = at;
    }
    this.#next = Math.max(this.#next, latest + 1);
    return this.#last >= earliest ? this.#last : undefined;
  }
}

/** Maximum units that are examined before a sentence: its blanks, and the end of the previous sentence. */
const MAX_LOOKBACK = 12;

// Each pattern ends with the first character of the sentence. Scripts with full-width punctuation have no blank between
// sentences.
const STARTS = [
  /[\n\r\v\f\u0085\u2028\u2029]\s*\S$/u,
  /\p{Sentence_Terminal}[\p{Pe}\p{Pf}"']{0,3}\s+\S$/u,
  /[。！？｡．][\p{Pe}\p{Pf}]{0,3}[^\s\p{Pe}\p{Pf}\p{Sentence_Terminal}]$/u,
];
const PRECEDES_START = /[\s\p{Sentence_Terminal}\p{Pe}\p{Pf}]/u;

/** Whether a sentence or a line starts at a position. Abbreviations may look like ends of sentences. */
function beginsSentence(text: string, at: number): boolean {
  if (at === 0) return true;
  // A fast check that excludes most positions before the slower patterns.
  if (!PRECEDES_START.test(text.charAt(at - 1))) return false;
  const near = text.slice(Math.max(0, at - MAX_LOOKBACK), at + 1);
  return STARTS.some((start) => start.test(near));
}
