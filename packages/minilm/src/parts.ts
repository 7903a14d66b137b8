/** Most characters (UTF-16 units) that one part is taken from: about 1,000 tokens of English. */
export const WINDOW_LENGTH = 4096;

/** Numbers of the reduced state of a token. */
export const STATE_SIZE = 32;

/** Longest stretch that is tokenised at once, which bounds what is tokenised in vain: about 256 tokens of English. */
const STRETCH_LENGTH = 1024;

/** Code points at once where even a word has to be cut: at most 64 tokens, since a code point decomposes to 4. */
const FRAGMENT = /[\s\S]{1,16}/gu;

/** A high surrogate: the first of the two units of one character. */
const HALF_CHARACTER_AT_END = /[\uD800-\uDBFF]$/;

type Segmenter = (text: string) => Iterable<string>;

/** From the places where a cut is welcome to those where it must be. */
const SEGMENTERS: readonly Segmenter[] = [
  segmenter('sentence'),
  segmenter('word'),
  (text) => text.match(FRAGMENT) ?? [],
  (text) => text,
];

/** The tokens of a text, or whatever else the length of a part is counted in. */
export type Tokenize = (text: string) => ArrayLike<number> & Iterable<number>;

/** The beginning of a text: the ids of its tokens and how many characters (UTF-16 units) it covers. */
export interface Part {
  ids: number[];
  length: number;
}

/** The first part of a window as a unit vector; `tokens` is 0 for a part that says nothing. */
export interface EmbeddedPart {
  vector: Float32Array;
  /** The states of its tokens that tell what it is about, `STATE_SIZE` numbers each; absent where the model tells none. */
  states?: Int8Array;
  /** Characters that it covers, at least one unless the window is empty. */
  length: number;
  /** How much it says, in whatever the model counts: the weight of this vector among those of a text. */
  tokens: number;
}

/** Resolves when the next stretch of native code may run: a query's at once, a memory's when no query is under way. */
export type Turn = () => Promise<void>;

/** A model: embeds the first part of each window, in their order, asking for its turn before each stretch of native code. */
export type Model = (windows: readonly string[], turn: Turn) => Promise<EmbeddedPart[]>;

/** What a part at `from` is taken from; it ends at a space where the text goes on and there is one near its end. */
export function windowAt(text: string, from: number): string {
  const window = text.slice(from, from + WINDOW_LENGTH);
  if (from + window.length === text.length) return window;
  const space = Math.max(window.lastIndexOf(' '), window.lastIndexOf('\n')) + 1;
  if (space > WINDOW_LENGTH / 2) return window.slice(0, space);
  return HALF_CHARACTER_AT_END.test(window) ? window.slice(0, -1) : window;
}

/** The parts of a text, in order; together they are the text. */
export function* getParts(text: string, tokenize: Tokenize, mostTokens: number): Iterable<string> {
  for (let from = 0; from < text.length; ) {
    const { length } = takePart(windowAt(text, from), tokenize, mostTokens);
    yield text.slice(from, (from += length));
  }
}

/**
 * Takes the first part of a window. A part ends at a sentence's end if that leaves it at least half full, else at a
 * word's end if that does, else within a word. Covers at least one character unless the window is empty.
 *
 * @param mostTokens most tokens of the part; no single character may have more
 */
export function takePart(window: string, tokenize: Tokenize, mostTokens: number): Part {
  if (window.length <= STRETCH_LENGTH) {
    const ids = [...tokenize(window)];
    if (ids.length <= mostTokens) return { ids, length: window.length };
  }
  const part: Part = { ids: [], length: 0 };
  fill(part, window, { tokenize, mostTokens, level: 0 });
  if (part.length === 0 && window !== '') throw new RangeError(`a character has more than ${mostTokens} tokens`);
  return part;
}

interface Cutting {
  tokenize: Tokenize;
  mostTokens: number;
  /** Which of the segmenters cuts. */
  level: number;
}

function fill(part: Part, text: string, { tokenize, mostTokens, level }: Cutting): void {
  for (const segment of SEGMENTERS[level]?.(text) ?? []) {
    const ids = segment.length <= STRETCH_LENGTH ? tokenize(segment) : undefined;
    if (!ids || part.ids.length + ids.length > mostTokens) {
      if (part.ids.length < mostTokens / 2) fill(part, segment, { tokenize, mostTokens, level: level + 1 });
      return;
    }
    for (const id of ids) part.ids.push(id);
    part.length += segment.length;
  }
}

// Made for the first long text: the first of a process takes 17 ms, which is a part of its start.
function segmenter(granularity: 'sentence' | 'word'): Segmenter {
  let segments: Intl.Segmenter | undefined;
  return function* (text) {
    segments ??= new Intl.Segmenter('en', { granularity });
    for (const { segment } of segments.segment(text)) yield segment;
  };
}
