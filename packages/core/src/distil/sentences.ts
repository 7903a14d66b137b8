import { getGraphemes, getLabel, getSentences } from '@memoryd/search';

/** Maximum length of a quote in UTF-16 units. A longer sentence is cut, if possible at a pause or a blank. */
export const MAX_QUOTE_CHARS = 500;

/**
 * A part of a text: a sentence, a piece of a long sentence, or the first sentences of a line that begins with its
 * speaker. An exact substring without blanks at its ends.
 */
export interface Quote {
  text: string;
  /** True if the quote consists of questions, or is a piece of a question. */
  isQuestion: boolean;
}

const LINE_BREAK = /[\n\r\v\f\u0085\u2028\u2029]+/u;

/**
 * Matches text at a sentence boundary of UAX 29 that may be wrong: a title, an initial, letters with points between
 * them, or a short number (`am 8. Mai`). The text is then not split, since a quote of two sentences is only longer, but
 * a quote of half a sentence may have another meaning.
 */
const UNCERTAIN_END = /(?:^|[\s(])(?:\p{Lu}\p{L}{0,3}|\p{L}(?:\.\p{L})+|\p{Nd}{1,3})\.\s*$/u;
const QUESTION_END = /[?\uff1f\u061f\u037e\u055e\u1367\u203d\u2047-\u2049]["'”’»)\]\s\u300c-\u300f]*$/u;
const PAUSE = /(?:[,;:)\u2013\u2014](?=\s)|[\u3001\uff0c\uff1b\uff1a\u060c\u061b])\s*/gu;
const BLANK = /\s+/gu;
const HALF_CHARACTER_AT_END = /[\uD800-\uDBFF]$/;

/** Matches a letter, digit or symbol. Quotes without a match are dropped, unless no quote of the text has a match. */
const HAS_CONTENT = /[\p{L}\p{N}\p{S}]/u;

/**
 * Returns the quotes of a text in order: the sentences of each line (UAX 29). A line that begins with its speaker
 * (`Ada: …`) is quoted from its beginning, with as many sentences as fit into a quote: a later sentence alone would not
 * name the speaker, and a name added before it would not be an exact quote. Each quote is a substring of 1 to 500
 * UTF-16 units. A text that is not blank has at least one quote.
 */
export function findQuotes(text: string): Quote[] {
  const quotes: Quote[] = [];
  for (const line of text.split(LINE_BREAK)) {
    const trimmed = line.trim();
    if (trimmed === '') continue;
    const sentences = splitIntoSentences(trimmed);
    if (getLabel(trimmed) === '') for (const sentence of sentences) quotes.push(...cutSentence(sentence));
    else quotes.push(toTurnQuote(sentences));
  }
  // U+0085 is a line break but not a blank for `trim`, so a text of such line breaks alone is quoted unchanged.
  if (quotes.length === 0) return cutSentence(text);
  const meaningful = quotes.filter((quote) => HAS_CONTENT.test(quote.text));
  return meaningful.length > 0 ? meaningful : quotes;
}

/** Splits a line into sentences. The joined sentences equal the line. */
function splitIntoSentences(line: string): string[] {
  const sentences: string[] = [];
  let current = '';
  for (const { segment } of getSentences(line)) {
    current += segment;
    if (current.length <= MAX_QUOTE_CHARS && UNCERTAIN_END.test(current.slice(-12))) continue;
    sentences.push(current);
    current = '';
  }
  if (current !== '') sentences.push(current);
  return sentences;
}

function toTurnQuote([first = '', ...others]: readonly string[]): Quote {
  const [beginning] = cutSentence(first) as [Quote];
  let { text, isQuestion } = { text: first, isQuestion: beginning.isQuestion };
  for (const sentence of others) {
    if ((text + sentence).trimEnd().length > MAX_QUOTE_CHARS) break;
    text += sentence;
    isQuestion &&= QUESTION_END.test(sentence);
  }
  return text === first ? beginning : { text: text.trimEnd(), isQuestion };
}

/** Returns a sentence as one quote, or as several if it is too long. */
function cutSentence(sentence: string): Quote[] {
  const pieces: Quote[] = [];
  let rest = sentence.trim();
  const isQuestion = QUESTION_END.test(rest);
  while (rest.length > MAX_QUOTE_CHARS) {
    const piece = rest.slice(0, findCut(rest));
    pieces.push({ text: piece.trimEnd(), isQuestion });
    rest = rest.slice(piece.length).trimStart();
  }
  if (rest !== '') pieces.push({ text: rest, isQuestion });
  return pieces;
}

function findCut(text: string): number {
  const window = text.slice(0, MAX_QUOTE_CHARS);
  for (const place of [PAUSE, BLANK]) {
    const end = [...window.matchAll(place)].map(({ index, 0: found }) => index + found.length).at(-1) ?? 0;
    if (end > MAX_QUOTE_CHARS / 2) return end;
  }
  // Cuts before a grapheme that crosses the limit. Two more units show whether a grapheme ends at the limit.
  const { index = 0 } = getGraphemes(text.slice(0, MAX_QUOTE_CHARS + 2)).containing(MAX_QUOTE_CHARS) ?? {};
  if (index > MAX_QUOTE_CHARS / 2) return index;
  return HALF_CHARACTER_AT_END.test(window) ? MAX_QUOTE_CHARS - 1 : MAX_QUOTE_CHARS;
}
