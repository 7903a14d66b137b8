import type { Digest } from '@memoryd/engine/storage-kit';
/** Then no memory holds a word twice, by two of its terms. */
export function areOneTermEach(words: readonly Digest[][]): boolean {
  return words.every((terms) => terms.length === 1);
}

/** Terms with the places of the words that they stand for, in two columns. */
export function columnsOf(words: readonly Digest[][]): { places: number[]; terms: Digest[] } {
  return { places: words.flatMap((terms, place) => terms.map(() => place)), terms: words.flat() };
}
