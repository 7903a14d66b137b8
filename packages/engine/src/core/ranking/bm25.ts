import type { Signals } from '../../ports/storage.ts';
import { WEIGHTS } from './weights.ts';

/** The columns of signals that speak of words. */
export type WordSignals = Pick<Signals, 'memoryCount' | 'documentFrequencies' | 'lengths' | 'termFrequencies'>;

/**
 * How well the words of each row match the query, from 0 to 1 (never reached): BM25 divided by what it would be for
 * endless repetitions of every term of the query. Terms that no memory holds count among these, so that a memory scores
 * the same before and after another one brings such a term. No other row takes part in a row's value.
 */
export function wordMatches(signals: WordSignals): Float64Array {
  const rows = signals.lengths.length;
  const matches = new Float64Array(rows);
  const words = termShares(signals);
  for (let row = 0; row < rows; row += 1) matches[row] = wordMatch(signals, row, words);
  return matches;
}

function wordMatch({ lengths, termFrequencies }: WordSignals, row: number, words: Float64Array): number {
  const { k1, b, pivotLength } = WEIGHTS.bm25;
  const damping = k1 * (1 - b + (b * (lengths[row] as number)) / pivotLength);
  const first = row * words.length;
  let match = 0;
  for (let term = 0; term < words.length; term += 1) {
    const frequency = termFrequencies[first + term] as number;
    if (frequency > 0) match += ((words[term] as number) * frequency) / (frequency + damping);
  }
  return match;
}

/** What part of a match each term of a query makes: how much it tells, as a part of what all of them do. */
export function termShares(signals: Pick<Signals, 'memoryCount' | 'documentFrequencies'>): Float64Array {
  return shares(termWeights(signals));
}

/**
 * How much each term tells: ln(1 + M / (n + 3)) for a term in n memories. M, which plays the number of memories, is
 * the geometric mean of that number (plus a pivot) and the pivot, since the full number would let memories that have
 * nothing to do with a query move its scores, and none at all would take common words of a large store for rare.
 */
function termWeights({
  memoryCount,
  documentFrequencies,
}: Pick<Signals, 'memoryCount' | 'documentFrequencies'>): Float64Array {
  const { pivotMemories, frequencyOffset } = WEIGHTS.bm25;
  const memories = Math.sqrt(pivotMemories * (pivotMemories + memoryCount));
  return Float64Array.from(documentFrequencies, (frequency) => Math.log1p(memories / (frequency + frequencyOffset)));
}

/** Each value's part of their sum. */
function shares(values: Float64Array): Float64Array {
  const sum = values.reduce((total, value) => total + value, 0);
  return sum > 0 ? values.map((value) => value / sum) : values;
}
