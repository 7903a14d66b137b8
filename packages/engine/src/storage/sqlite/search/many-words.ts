import type { Digest } from '../../../recall-index/entry.ts';
import type { RecallIndex } from '../../../recall-index/recall-index.ts';

/** Most words that the index is asked for at once. */
const ASKED_AT_ONCE = 128;

/** In how many memories each of any number of words occurs. The index then has other words for the question's. */
export function documentFrequenciesOf(index: RecallIndex, words: readonly Digest[][]): number[] {
  return inTurns(words).flatMap((some) => index.words(some));
}

function inTurns(words: readonly Digest[][]): Digest[][][] {
  const turns: Digest[][][] = [];
  for (let from = 0; from < words.length; from += ASKED_AT_ONCE) turns.push(words.slice(from, from + ASKED_AT_ONCE));
  return turns;
}
