import { readFile } from 'node:fs/promises';
import { toWord } from '../../core/text/word.ts';
import { MAX_SYNONYMS, type Neighbours } from '../table.ts';

const WORD = /^[a-z]{3,}$/;

/**
 * The words of a tokenizer's vocabulary by their terms, each term with its most frequent word, which is the one that the
 * vocabulary has first.
 *
 * @param path of a WordPiece tokenizer in the format of Hugging Face's tokenizers
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

/** Cosine of words that have nothing to do with each other, at most: synonyms are nearer. */
const MIN_COSINE = 0.45;

/** The words nearest to each by the cosines of their vectors, which have unit length. */
export function* getNearest(vectors: readonly Float32Array[]): Generator<Neighbours> {
  for (const [place, vector] of vectors.entries()) {
    const near = vectors
      .map((other, at) => ({ at, closeness: at === place ? 0 : getCloseness(vector, other) }))
      .filter(({ closeness }) => closeness > 0)
      .sort((a, b) => b.closeness - a.closeness || a.at - b.at)
      .slice(0, MAX_SYNONYMS);
    yield { places: near.map(({ at }) => at), closeness: near.map(({ closeness }) => closeness) };
  }
}

/** From 0, for the least cosine of synonyms and below, to 1. */
export function getCloseness(one: Float32Array, other: Float32Array): number {
  let cosine = 0;
  for (let i = 0; i < one.length; i++) cosine += (one[i] as number) * (other[i] as number);
  return Math.min(1, Math.max(0, (cosine - MIN_COSINE) / (1 - MIN_COSINE)));
}
