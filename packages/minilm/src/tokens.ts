import { readFile } from 'node:fs/promises';
import { Tokenizer } from '@huggingface/tokenizers';
import { Tensor } from '@memoryd/onnxruntime';

/** Version of the rules in this file and in `parts.ts`. Change the version with every change that affects vectors. */
export const PARTS_RULE = 'parts-3';

/** Maximum tokens of a part: the 256 of all-MiniLM-L6-v2 minus the two markers. */
export const PART_TOKENS = 254;

/** Token id of WordPiece for an unknown word. */
const UNKNOWN = 100;

/**
 * Returns the ids of a text's WordPiece tokens without the markers at both ends. Returns an empty array for a text in
 * an unsupported language, because the vector of such a text would represent little more than its letters.
 */
export type Tokenize = (text: string) => number[];

/**
 * Maximum characters of a word, counted after Unicode decomposition. Longer words are tokenized in pieces, because
 * WordPiece turns a word of more than 100 characters into one unknown token, and takes time quadratic in the length of
 * a word.
 */
const MAX_WORD_CHARS = 64;

/**
 * Matches words (neither white space nor punctuation) of 17 or more characters. Such a word may exceed
 * `MAX_WORD_CHARS`, because a character decomposes into up to 4.
 */
const LONG_WORD = /[^\s\p{P}!-/:-@[-`{-~]{17,}/gu;
const PIECE = /[\s\S]{16}/gu;

/** A tokenizer and a classifier of its tokens. */
export interface WordPiece {
  tokenize: Tokenize;
  /** Returns true if the state of a token is stored. False for punctuation, symbols and the most frequent words. */
  isInformative(id: number): boolean;
}

/**
 * Number of most frequent words whose states are omitted. The vocabulary is sorted by frequency; the first words are
 * "the", "of", "and" and the like. Omitting the states of these words halves the number of states of a text and does
 * not change the quality of recall.
 */
const FREQUENT_WORDS = 60;
const FIRST_WORD = 'the';

/** Reads a tokenizer in the format of Hugging Face's tokenizers. */
export async function readTokenizer(path: string): Promise<WordPiece> {
  const description: TokenizerDescription = JSON.parse(await readFile(path, 'utf8'));
  const tokenizer = new Tokenizer(description, {});
  const [letters, symbols] = [LETTER, SYMBOL].map((kind) => findTokens(description, kind)) as [
    Set<number>,
    Set<number>,
  ];
  const isUnknown = (id: number) => id === UNKNOWN || letters.has(id);
  const firstWord = description.model.vocab[FIRST_WORD] as number;
  return {
    tokenize(text) {
      const { ids } = tokenizer.encode(text.replace(LONG_WORD, splitWord), { add_special_tokens: false });
      const words = ids.filter((id: number) => !symbols.has(id));
      const unknown = words.filter(isUnknown).length;
      return unknown > words.length / 2 ? [] : ids;
    },
    isInformative: (id) => !symbols.has(id) && !(id >= firstWord && id < firstWord + FREQUENT_WORDS),
  };
}

/** The used part of a tokenizer's file. */
interface TokenizerDescription {
  model: { vocab: Record<string, number> };
}

/**
 * Matches a token of a single letter other than a to z. WordPiece splits unknown words of other scripts into such
 * tokens.
 */
const LETTER = /^(?:##)?(?![a-z])[\p{L}\p{M}]$/u;

/** Matches a token of punctuation or other symbols, which do not indicate a language. */
const SYMBOL = /^(?:##)?[\p{P}\p{S}]+$/u;

function findTokens({ model: { vocab } }: TokenizerDescription, kind: RegExp): Set<number> {
  return new Set(Object.entries(vocab).flatMap(([token, id]) => (kind.test(token) ? [id] : [])));
}

function splitWord(word: string): string {
  return word.length > MAX_WORD_CHARS || word.normalize('NFD').length > MAX_WORD_CHARS
    ? word.replace(PIECE, '$& ')
    : word;
}

/** The inputs of a run: one column per text and one row per token position. */
type RunInputs = Record<'ids' | 'kept', Tensor>;

/** Returns the inputs for texts given as token ids. `kept` is 1 for tokens and 0 for padding. */
export function getInputs(texts: readonly ArrayLike<number>[]): RunInputs {
  const longest = Math.max(...texts.map((ids) => ids.length));
  const ids = new Int32Array(longest * texts.length);
  const kept = new Float32Array(longest * texts.length);
  for (const [column, text] of texts.entries()) {
    for (let i = 0; i < text.length; i++) {
      ids[i * texts.length + column] = text[i] as number;
      kept[i * texts.length + column] = 1;
    }
  }
  const shape = [longest, texts.length];
  return { ids: new Tensor('int32', ids, shape), kept: new Tensor('float32', kept, shape) };
}
