/** Maximum characters (UTF-16 units) from which a part is taken: about 1,000 tokens of English. */
export const WINDOW_LENGTH = 4096;

/** Dimensions of a token's reduced state. */
export const STATE_SIZE = 32;

/**
 * Maximum characters that are tokenized at once: about 256 tokens of English. Tokens that do not fit into a part are
 * discarded, so the maximum limits wasted work.
 */
const MAX_TOKENIZED_CHARS = 1024;

/** Unit by which a word is split: 16 code points, at most 64 tokens, because a code point decomposes into up to 4. */
const FRAGMENT = /[\s\S]{1,16}/gu;

/** An unpaired high surrogate at the end. */
const UNPAIRED_SURROGATE_AT_END = /[\uD800-\uDBFF]$/;

type Segmenter = (text: string) => Iterable<string>;

/** Ordered from preferred to forced split points. */
const SEGMENTERS: readonly Segmenter[] = [
  createSegmenter('sentence'),
  createSegmenter('word'),
  (text) => text.match(FRAGMENT) ?? [],
  (text) => text,
];

/** Returns the tokens of a text, or other units in which the length of a part is counted. */
export type Tokenize = (text: string) => ArrayLike<number> & Iterable<number>;

/** The beginning of a text: its token ids and its length in UTF-16 units. */
export interface Part {
  ids: number[];
  length: number;
}

/**
 * The embedding of the first part of a window. `vector` has unit norm; `tokens` is 0 if the part contains no known
 * token, or is in an unsupported language.
 */
export interface EmbeddedPart {
  vector: Float32Array;
  /**
   * The states of the part's informative tokens (see `WordPiece`), `STATE_SIZE` numbers each; undefined if the model
   * has none.
   */
  states?: Int8Array;
  /** Characters that the part covers, at least one unless the window is empty. */
  length: number;
  /**
   * Length of the part in tokens, or in another unit of the model: the weight of its vector in the mean of a text's
   * vectors.
   */
  tokens: number;
}

/** Resolves when the next native call may run: immediately for a query, after all running queries for a memory. */
export type Turn = () => Promise<void>;

/**
 * Embeds the first part of each window, in order. Waits for `turn` before each native call, so that queries run before
 * memories.
 */
export type Model = (windows: readonly string[], turn: Turn) => Promise<EmbeddedPart[]>;

/**
 * Returns the window of the part that starts at `from`. A window that does not reach the end of the text ends after the
 * last blank or line feed in the second half of the window, if any, and never within a surrogate pair.
 */
export function getWindow(text: string, from: number): string {
  const window = text.slice(from, from + WINDOW_LENGTH);
  if (from + window.length === text.length) return window;
  const space = Math.max(window.lastIndexOf(' '), window.lastIndexOf('\n')) + 1;
  if (space > WINDOW_LENGTH / 2) return window.slice(0, space);
  return UNPAIRED_SURROGATE_AT_END.test(window) ? window.slice(0, -1) : window;
}

/** Yields the parts of a text in order. The concatenated parts equal the text. */
export function* getParts(text: string, tokenize: Tokenize, maxTokens: number): Iterable<string> {
  for (let from = 0; from < text.length; ) {
    const { length } = takePart(getWindow(text, from), tokenize, maxTokens);
    yield text.slice(from, (from += length));
  }
}

/**
 * Returns the first part of a window. A part ends at the end of a sentence. If the part would then be less than half
 * full, the part ends at the end of a later word, or else within a word. The part has at least one character unless the
 * window is empty.
 *
 * @param maxTokens maximum tokens of the part
 * @throws RangeError if the first character has more than `maxTokens` tokens
 */
export function takePart(window: string, tokenize: Tokenize, maxTokens: number): Part {
  if (window.length <= MAX_TOKENIZED_CHARS) {
    const ids = [...tokenize(window)];
    if (ids.length <= maxTokens) return { ids, length: window.length };
  }
  const part: Part = { ids: [], length: 0 };
  fillPart(part, window, { tokenize, maxTokens, level: 0 });
  if (part.length === 0 && window !== '')
    throw new RangeError(`a character has more tokens than the maximum of ${maxTokens}; choose another model`);
  return part;
}

interface SplitOptions {
  tokenize: Tokenize;
  maxTokens: number;
  /** Index in `SEGMENTERS` of the segmenter that splits the text. */
  level: number;
}

function fillPart(part: Part, text: string, { tokenize, maxTokens, level }: SplitOptions): void {
  for (const segment of SEGMENTERS[level]?.(text) ?? []) {
    const ids = segment.length <= MAX_TOKENIZED_CHARS ? tokenize(segment) : undefined;
    if (!ids || part.ids.length + ids.length > maxTokens) {
      if (part.ids.length < maxTokens / 2) fillPart(part, segment, { tokenize, maxTokens, level: level + 1 });
      return;
    }
    for (const id of ids) part.ids.push(id);
    part.length += segment.length;
  }
}

// Creates the segmenter when the first long text is split. Creating the first segmenter of a process takes 17 ms, and
// would delay the start of the process.
function createSegmenter(granularity: 'sentence' | 'word'): Segmenter {
  let segments: Intl.Segmenter | undefined;
  return function* (text) {
    segments ??= new Intl.Segmenter('en', { granularity });
    for (const { segment } of segments.segment(text)) yield segment;
  };
}
