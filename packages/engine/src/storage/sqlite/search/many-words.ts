import type { Digest } from '../../../recall-index/entry.ts';
import type { RecallIndex } from '../../../recall-index/recall-index.ts';

/** In how many memories each of any number of words occurs. The index then has other words for the question's. */
export function documentFrequenciesOf(index: RecallIndex, words: readonly Digest[][]): number[] {
  return inTurns(words, index.mostWords).flatMap((some) => index.words(some));
}

function inTurns(words: readonly Digest[][], most: number): Digest[][][] {
  const turns: Digest[][][] = [];
  for (let from = 0; from < words.length; from += most) turns.push(words.slice(from, from + most));
  return turns;
}
