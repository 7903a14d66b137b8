import { readFile } from 'node:fs/promises';
import { Tokenizer } from '@huggingface/tokenizers';

/** Names everything in this file and in `parts.ts` that a vector depends on: another rule needs another name. */
export const PARTS_RULE = 'parts-2';

/** Most tokens of a part: the 256 that all-MiniLM-L6-v2 was made for, less the two that mark a text's ends. */
export const PART_TOKENS = 254;

/** What WordPiece makes of a word of which it knows nothing. */
const UNKNOWN = 100;

/**
 * A text to the ids of its WordPiece tokens, without the two that mark a text's ends. A text of which nothing is known
 * has none: all such texts would otherwise mean the same.
 */
export type Tokenize = (text: string) => number[];

/**
 * WordPiece answers one unknown token for a word of more than 100 characters, however much it says, and needs time in
 * the square of a word's length. Past this length, counted after the decomposition that the tokenizer does first, a
 * word is tokenised in pieces.
 */
const LONGEST_WORD = 64;

/** Words of the tokenizer (neither white space nor punctuation) that may be too long, as a character may become 4. */
const LONG_WORD = /[^\s\p{P}!-/:-@[-`{-~]{17,}/gu;
const PIECE = /[\s\S]{16}/gu;

/** Reads a tokenizer in the format of Hugging Face's tokenizers. */
export async function readTokenizer(path: string): Promise<Tokenize> {
  const tokenizer = new Tokenizer(JSON.parse(await readFile(path, 'utf8')), {});
  return (text) => {
    const { ids } = tokenizer.encode(text.replace(LONG_WORD, breakUp), { add_special_tokens: false });
    return ids.every((id: number) => id === UNKNOWN) ? [] : ids;
  };
}

function breakUp(word: string): string {
  return word.length > LONGEST_WORD || word.normalize('NFD').length > LONGEST_WORD ? word.replace(PIECE, '$& ') : word;
}
