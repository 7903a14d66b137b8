import { readFile } from 'node:fs/promises';
import { wordOf } from '../../core/text/word.ts';

const WORD = /^[a-z]{3,}$/;

/**
 * The words of a tokenizer's vocabulary by their terms, each term with its most frequent word, which is the one that the
 * vocabulary has first.
 *
 * @param path of a WordPiece tokenizer in the format of Hugging Face's tokenizers
 */
export async function vocabularyOf(path: string): Promise<Map<string, string>> {
  const { model } = JSON.parse(await readFile(path, 'utf8')) as { model: { vocab: Record<string, number> } };
  const words = Object.entries(model.vocab)
    .filter(([word]) => WORD.test(word))
    .sort(([, one], [, other]) => one - other);
  const byTerm = new Map<string, string>();
  for (const [word] of words) {
    const [term, ...others] = wordOf(word).terms;
    if (term?.counts && others.length === 0 && !byTerm.has(term.text)) byTerm.set(term.text, word);
  }
  return byTerm;
}
