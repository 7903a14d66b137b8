import type { Digest } from '../../../recall-index/entry.ts';
import type { RecallIndex } from '../../../recall-index/recall-index.ts';

/** Most words that the index is asked for at once. */
const ASKED_AT_ONCE = 64;

/** In how many memories each of any number of words occurs. The index then has other words for the question's. */
export function documentFrequenciesOf(index: RecallIndex, words: readonly Digest[][]): number[] {
  return inTurns(words).flatMap((some) => index.words(some));
}

/** How often each of any number of words occurs in each row, in the order of `RecallIndex.frequencies`; likewise. */
export function frequenciesOf(index: RecallIndex, words: readonly Digest[][], rows: readonly number[]): Uint16Array {
  const all = new Uint16Array(rows.length * words.length);
  let first = 0;
  for (const some of inTurns(words)) {
    index.words(some);
    const frequencies = index.frequencies(rows);
    rows.forEach((_, row) => {
      const ofRow = frequencies.subarray(row * some.length, (row + 1) * some.length);
      all.set(ofRow, row * words.length + first);
    });
    first += some.length;
  }
  return all;
}

function inTurns(words: readonly Digest[][]): Digest[][][] {
  const turns: Digest[][][] = [];
  for (let from = 0; from < words.length; from += ASKED_AT_ONCE) turns.push(words.slice(from, from + ASKED_AT_ONCE));
  return turns;
}
