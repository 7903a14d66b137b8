import { readFile } from 'node:fs/promises';
import { toWord } from '../../text/word.ts';
import { MAX_SYNONYMS, type Neighbors } from '../table.ts';

const WORD = /^[a-z]{3,}$/;

/**
 * Returns the words of a tokenizer's vocabulary by their terms: words of at least three letters a to z that have one
 * term. Of several words with the same term, returns the most frequent, which is first in the vocabulary.
 *
 * @param path path of a WordPiece tokenizer in the format of Hugging Face's tokenizers
 */
export async function readVocabulary(path: string): Promise<Map<string, string>> {
  const { model } = JSON.parse(await readFile(path, 'utf8')) as { model: { vocab: Record<string, number> } };
  const words = Object.entries(model.vocab)
    .filter(([word]) => WORD.test(word))
    .sort(([, one], [, other]) => one - other);
  const byTerm = new Map<string, string>();
  for (const [word] of words) {
    const [term, ...others] = toWord(word).terms;
    if (term?.counts && others.length === 0 && !byTerm.has(term.text)) byTerm.set(term.text, word);
  }
  return byTerm;
}

/** Cosine above which words are synonyms. The cosine of unrelated words is usually lower. */
const MIN_COSINE = 0.45;

/** Yields, for each unit vector, up to `MAX_SYNONYMS` nearest other vectors with a cosine above `MIN_COSINE`. */
export function* getNearest(vectors: readonly Float32Array[]): Generator<Neighbors> {
  for (const [place, vector] of vectors.entries()) {
    const nearest = vectors
      .map((other, at) => ({ at, closeness: at === place ? 0 : getCloseness(vector, other) }))
      .filter(({ closeness }) => closeness > 0)
      .sort((a, b) => b.closeness - a.closeness || a.at - b.at)
      .slice(0, MAX_SYNONYMS);
    yield { places: nearest.map(({ at }) => at), closeness: nearest.map(({ closeness }) => closeness) };
  }
}

/** Returns the closeness of two words, from 0 (cosine at most MIN_COSINE) to 1 (cosine 1). */
export function getCloseness(one: Float32Array, other: Float32Array): number {
  let cosine = 0;
  for (let i = 0; i < one.length; i++) cosine += (one[i] as number) * (other[i] as number);
  return Math.min(1, Math.max(0, (cosine - MIN_COSINE) / (1 - MIN_COSINE)));
}
