import { readFile } from 'node:fs/promises';
import { Tokenizer } from '@huggingface/tokenizers';
import { Tensor } from '@memoryd/onnxruntime';

/** Names everything in this file and in `parts.ts` that a vector depends on: another rule needs another name. */
export const PARTS_RULE = 'parts-3';

/** Most tokens of a part: the 256 that all-MiniLM-L6-v2 was made for, less the two that mark a text's ends. */
export const PART_TOKENS = 254;

/** What WordPiece makes of a word of which it knows nothing. */
const UNKNOWN = 100;

/**
 * A text to the ids of its WordPiece tokens, without the two that mark a text's ends. A text in a language that the model does
 * not know has none: its vector would tell little more than which letters it has.
 */
export type Tokenize = (text: string) => number[];

/**
 * WordPiece answers one unknown token for a word of more than 100 characters, however much it says, and needs time in
 * the square of a word's length. Past this length, counted after the decomposition that the tokenizer does first, a
 * word is tokenised in pieces.
 */
const MAX_WORD_CHARS = 64;

/** Words of the tokenizer (neither white space nor punctuation) that may be too long, as a character may become 4. */
const LONG_WORD = /[^\s\p{P}!-/:-@[-`{-~]{17,}/gu;
const PIECE = /[\s\S]{16}/gu;

/** A tokenizer, and what it knows of tokens. */
export interface WordPiece {
  tokenize: Tokenize;
  /** Whether a token tells what a text is about, so that its state is kept. */
  tells(id: number): boolean;
}

/**
 * The vocabulary has words in the order of how often they occurred in the texts that it was made of. The first so many are
 * "the", "of", "and" and their like, which occur in every other text: without them a text has half as many states, and is
 * found as well.
 */
const COMMONEST = 60;
const FIRST_WORD = 'the';

/** Reads a tokenizer in the format of Hugging Face's tokenizers. */
export async function readTokenizer(path: string): Promise<WordPiece> {
  const description: TokenizerDescription = JSON.parse(await readFile(path, 'utf8'));
  const tokenizer = new Tokenizer(description, {});
  const [letters, signs] = [LETTER, SIGN].map((kind) => findTokens(description, kind)) as [Set<number>, Set<number>];
  const isUnknown = (id: number) => id === UNKNOWN || letters.has(id);
  const firstWord = description.model.vocab[FIRST_WORD] as number;
  return {
    tokenize(text) {
      const { ids } = tokenizer.encode(text.replace(LONG_WORD, breakUp), { add_special_tokens: false });
      const told = ids.filter((id: number) => !signs.has(id));
      const unknown = told.filter(isUnknown).length;
      return unknown > told.length / 2 ? [] : ids;
    },
    tells: (id) => !signs.has(id) && !(id >= firstWord && id < firstWord + COMMONEST),
  };
}

/** What of its file is read here. */
interface TokenizerDescription {
  model: { vocab: Record<string, number> };
}

/** A letter of another script than the Latin one: that WordPiece takes it alone says that it knows no word there. */
const LETTER = /^(?:##)?(?![a-z])[\p{L}\p{M}]$/u;

/** Punctuation and other signs, which say nothing of a language. */
const SIGN = /^(?:##)?[\p{P}\p{S}]+$/u;

function findTokens({ model: { vocab } }: TokenizerDescription, kind: RegExp): Set<number> {
  return new Set(Object.entries(vocab).flatMap(([token, id]) => (kind.test(token) ? [id] : [])));
}

function breakUp(word: string): string {
  return word.length > MAX_WORD_CHARS || word.normalize('NFD').length > MAX_WORD_CHARS
    ? word.replace(PIECE, '$& ')
    : word;
}

/** What a run is given: tokens in columns, one for each text, so that the texts' first tokens come before their second. */
type RunInputs = Record<'ids' | 'kept', Tensor>;

/** The inputs for some texts, by the ids of their tokens; `kept` is 0 behind the end of all but the longest, else 1. */
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
