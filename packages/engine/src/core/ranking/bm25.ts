import type { Signals } from '../../ports/storage-search.ts';
import { WEIGHTS } from './weights.ts';

/** What is known of the words of a query. */
export type QueryWords = Pick<Signals, 'memoryCount' | 'documentFrequencies' | 'everyday'>;

/** The columns of signals that speak of words. */
export type WordSignals = QueryWords & Pick<Signals, 'lengths' | 'frequencies' | 'synonyms' | 'synonymFrequencies'>;

/**
 * How well each row matches each word of the query: row r, word w is at `r * words + w`. It is the word's share (see
 * `wordShares`), of which endless repetitions of the word reach the whole, as in BM25. Words that no memory holds have
 * shares too, so that a memory scores the same before and after another one brings such a word. A synonym counts as fewer
 * occurrences of the word that it stands for. No other row takes part in a row's value.
 */
export function wordMatches(signals: WordSignals): Float64Array {
  const { lengths } = signals;
  const frequencies = withSynonyms(signals);
  const shares = wordShares(signals);
  const matches = new Float64Array(frequencies.length);
  for (let row = 0, at = 0; row < lengths.length; row += 1) {
    const damping = getDamping(lengths[row] as number);
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

const { k1, b, pivotLength, longest } = WEIGHTS.bm25;

/**
 * What a text without words adds to a frequency of a word, what each of its words adds, and the most, by which storage chooses
 * candidates: repetitions and length count for less. Were long texts damped there as little as in ranking, these would push
 * out shorter ones.
 */
export const DAMPING = {
  least: k1 * (1 - b),
  perWord: (k1 * b) / pivotLength,
  most: k1 * (1 - b + (b * WEIGHTS.length.most) / pivotLength),
};

function getDamping(length: number): number {
  return DAMPING.least + DAMPING.perWord * Math.min(length, longest);
}

/**
 * What part of a match each word of a query makes: how much it tells, divided by the mean of what all of them tell and of
 * what those of a usual query do. So all words of a query that tells little make less than 1 together, and its meaning
 * counts for more; those of a long and telling one make up to 2.
 */
export function wordShares(query: QueryWords): Float64Array {
  const weights = wordWeights(query);
  const whole = getWhole(weights);
  return weights.map((weight) => weight / whole);
}

/** Returns how many times larger the share of each other word is without the words that are marked. */
export function getGainWithout(query: QueryWords, marked: Uint8Array): number {
  const weights = wordWeights(query);
  return getWhole(weights) / getWhole(weights.filter((_, word) => !marked[word]));
}

/** Returns the weight that makes a whole match. */
function getWhole(weights: Float64Array): number {
  return (WEIGHTS.bm25.pivotInformation + weights.reduce((sum, weight) => sum + weight, 0)) / 2;
}

/**
 * How much each word tells: ln(1 + M / (n + 3 + e)) for a word in n memories. M, which plays the number of memories, is
 * the geometric mean of that number (plus a pivot) and the pivot, since the full number would let memories that have
 * nothing to do with a query move its scores, and none at all would take common words of a large store for rare. In how
 * many notes a word would be were the pivot filled with everyday English is e: a small store tells too little of that.
 */
export function wordWeights({ memoryCount, documentFrequencies, everyday }: QueryWords): Float64Array {
  const { pivotMemories, frequencyOffset } = WEIGHTS.bm25;
  const memories = Math.sqrt(pivotMemories * (pivotMemories + memoryCount));
  return new Float64Array(documentFrequencies).map((frequency, word) =>
    Math.log1p(memories / (frequency + frequencyOffset + pivotMemories * (everyday[word] as number))),
  );
}
