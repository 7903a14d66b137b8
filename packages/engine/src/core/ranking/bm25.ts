import type { Signals } from '../../ports/storage-search.ts';
import { WEIGHTS } from './weights.ts';

/** What is known of the words of a query. */
export type QueryWords = Pick<Signals, 'memoryCount' | 'documentFrequencies'>;

/** The columns of signals that speak of words. */
export type WordSignals = QueryWords & Pick<Signals, 'lengths' | 'frequencies' | 'synonyms' | 'synonymFrequencies'>;

/**
 * How well each row matches each word of the query: row r, word w is at `r * words + w`. The sum over a row is from 0 to
 * 1 (never reached): BM25 divided by what it would be for endless repetitions of every word of the query. Words that no
 * memory holds count among these, so that a memory scores the same before and after another one brings such a word. A
 * synonym counts as fewer occurrences of the word that it stands for. No other row takes part in a row's value.
 */
export function wordMatches(signals: WordSignals): Float64Array {
  const { lengths } = signals;
  const frequencies = withSynonyms(signals);
  const shares = wordShares(signals);
  const matches = new Float64Array(frequencies.length);
  for (let row = 0, at = 0; row < lengths.length; row += 1) {
    const damping = dampingOf(lengths[row] as number);
    for (let word = 0; word < shares.length; word += 1, at += 1) {
      const frequency = frequencies[at] as number;
      if (frequency > 0) matches[at] = ((shares[word] as number) * frequency) / (frequency + damping);
    }
  }
  return matches;
}

/** How often each word occurs, or what the occurrences of one of its synonyms come to by its weight, whichever is most. */
function withSynonyms({ lengths, documentFrequencies, frequencies, synonyms, synonymFrequencies }: WordSignals) {
  const words = documentFrequencies.length;
  const counted = new Float64Array(frequencies);
  for (let row = 0, at = 0; row < lengths.length; row += 1) {
    for (let synonym = 0; synonym < synonyms.length; synonym += 1, at += 1) {
      const frequency = synonymFrequencies[at] as number;
      if (frequency === 0) continue;
      const { word, weight } = synonyms[synonym] as Signals['synonyms'][number];
      const place = row * words + word;
      counted[place] = Math.max(counted[place] as number, weight * frequency);
    }
  }
  return counted;
}

/** What a text of so many words adds to a frequency of a word in it, so that repetitions and length count for less. */
export function dampingOf(length: number): number {
  const { k1, b, pivotLength } = WEIGHTS.bm25;
  return k1 * (1 - b + (b * length) / pivotLength);
}

/** What part of a match each word of a query makes: how much it tells, as a part of what all of them do. */
export function wordShares(query: QueryWords): Float64Array {
  const weights = wordWeights(query);
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return sum > 0 ? weights.map((weight) => weight / sum) : weights;
}

/**
 * How much each word tells: ln(1 + M / (n + 3)) for a word in n memories. M, which plays the number of memories, is
 * the geometric mean of that number (plus a pivot) and the pivot, since the full number would let memories that have
 * nothing to do with a query move its scores, and none at all would take common words of a large store for rare.
 */
export function wordWeights({ memoryCount, documentFrequencies }: QueryWords): Float64Array {
  const { pivotMemories, frequencyOffset } = WEIGHTS.bm25;
  const memories = Math.sqrt(pivotMemories * (pivotMemories + memoryCount));
  return new Float64Array(documentFrequencies).map((frequency) => Math.log1p(memories / (frequency + frequencyOffset)));
}
