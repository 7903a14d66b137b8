import { getGraphemes, getSentences } from '../text/segments.ts';
import { getLabel } from '../text/traits.ts';

/** Longest quote, in UTF-16 units; a longer sentence is cut where it pauses, or at a blank. */
export const MAX_QUOTE_WORDS = 500;

/** A part of a text that can stand alone: the text has it exactly so, on one line, without blanks around it. */
export interface Quote {
  text: string;
  /** Whether all it says is asked. */
  asks: boolean;
}

const LINE_BREAK = /[\n\r\v\f\u0085\u2028\u2029]+/u;

/**
 * What Unicode takes for a sentence's end here may be none: a title, an initial, letters with points between them, or a
 * short number (`am 8. Mai`). What is joined for nothing is only a longer quote; what is cut says something else.
 */
const PERHAPS_NO_END = /(?:^|[\s(])(?:\p{Lu}\p{L}{0,3}|\p{L}(?:\.\p{L})+|\p{Nd}{1,3})\.\s*$/u;
const ASKS = /[?\uff1f\u061f\u037e\u055e\u1367\u203d\u2047-\u2049]["'”’»)\]\s\u300c-\u300f]*$/u;
const PAUSE = /(?:[,;:)\u2013\u2014](?=\s)|[\u3001\uff0c\uff1b\uff1a\u060c\u061b])\s*/gu;
const BLANK = /\s+/gu;
const HALF_CHARACTER_AT_END = /[\uD800-\uDBFF]$/;

/** Letters, digits or symbols, of which a quote has at least one where its text has any. */
const SAYS = /[\p{L}\p{N}\p{S}]/u;

/**
 * What can be quoted of a text, in its order: the sentences of each line (UAX 29). A line that begins with who speaks
 * (`Ada: …`) is quoted from there, whole or as many of its sentences as a quote holds: a later sentence of it alone
 * would not say whose it is, and a name put before it would be a text that nobody wrote. Each quote is a part of the
 * text without a gap, of 1 to 500 characters; there is at least one where the text is not blank.
 */
export function findQuotes(text: string): Quote[] {
  const quotes: Quote[] = [];
  for (const line of text.split(LINE_BREAK)) {
    const trimmed = line.trim();
    if (trimmed === '') continue;
    const sentences = splitIntoSentences(trimmed);
    if (getLabel(trimmed) === '') for (const sentence of sentences) quotes.push(...cut(sentence));
    else quotes.push(getTurn(sentences));
  }
  // U+0085 alone breaks lines and is yet no blank: a text of nothing else is quoted as it stands.
  if (quotes.length === 0) return cut(text);
  const saying = quotes.filter((quote) => SAYS.test(quote.text));
  return saying.length > 0 ? saying : quotes;
}

/** The sentences of a line; joined, they are the line. */
function splitIntoSentences(line: string): string[] {
  const sentences: string[] = [];
  let begun = '';
  for (const { segment } of getSentences(line)) {
    begun += segment;
    if (begun.length <= MAX_QUOTE_WORDS && PERHAPS_NO_END.test(begun.slice(-12))) continue;
    sentences.push(begun);
    begun = '';
  }
  if (begun !== '') sentences.push(begun);
  return sentences;
}

function getTurn([first = '', ...others]: readonly string[]): Quote {
  const [beginning] = cut(first) as [Quote];
  let { text, asks } = { text: first, asks: beginning.asks };
  for (const sentence of others) {
    if ((text + sentence).trimEnd().length > MAX_QUOTE_WORDS) break;
    text += sentence;
    asks &&= ASKS.test(sentence);
  }
  return text === first ? beginning : { text: text.trimEnd(), asks };
}

/** A sentence as quotes: itself, or pieces of it where it is too long. */
function cut(sentence: string): Quote[] {
  const pieces: Quote[] = [];
  let rest = sentence.trim();
  const asks = ASKS.test(rest);
  while (rest.length > MAX_QUOTE_WORDS) {
    const piece = rest.slice(0, cutAt(rest));
    pieces.push({ text: piece.trimEnd(), asks });
    rest = rest.slice(piece.length).trimStart();
  }
  if (rest !== '') pieces.push({ text: rest, asks });
  return pieces;
}

function cutAt(text: string): number {
  const window = text.slice(0, MAX_QUOTE_WORDS);
  for (const place of [PAUSE, BLANK]) {
    const end = [...window.matchAll(place)].map(({ index, 0: found }) => index + found.length).at(-1) ?? 0;
    if (end > MAX_QUOTE_WORDS / 2) return end;
  }
  // An accent or a part of an emoji stays with what it belongs to; two units more tell what begins there.
  const { index = 0 } = getGraphemes(text.slice(0, MAX_QUOTE_WORDS + 2)).containing(MAX_QUOTE_WORDS) ?? {};
  if (index > MAX_QUOTE_WORDS / 2) return index;
  return HALF_CHARACTER_AT_END.test(window) ? MAX_QUOTE_WORDS - 1 : MAX_QUOTE_WORDS;
}
