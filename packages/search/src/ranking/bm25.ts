import type { Signals } from './signals.ts';
import { WEIGHTS } from './weights.ts';

/** Statistics of the words of a query. */
export type QueryWords = Pick<Signals, 'memoryCount' | 'documentFrequencies' | 'everyday'>;

/** The columns of signals about words. */
export type WordSignals = QueryWords & Pick<Signals, 'lengths' | 'frequencies' | 'synonyms' | 'synonymFrequencies'>;

/**
 * Returns the match of each row with each word of the query, at `r * words + w` for row r and word w. A match is the
 * word's share (see `getWordShares`) times a saturation below 1 that grows with repetitions, as in BM25. Words that
 * occur in no memory have shares too, so that the shares of the other words hardly change when a memory with such a
 * word is stored. An occurrence of a synonym is worth less than an occurrence of its word. The value of a row does not
 * depend on other rows.
 */
export function getWordMatches(signals: WordSignals, shares = getWordShares(signals)): Float64Array {
  const { lengths } = signals;
  const frequencies = getFrequenciesWithSynonyms(signals);
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

/** Returns the frequency of each word, or the weighted frequency of one of its synonyms, whichever is greater. */
function getFrequenciesWithSynonyms({
  lengths,
  documentFrequencies,
  frequencies,
  synonyms,
  synonymFrequencies,
}: WordSignals) {
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
 * The damping of BM25, which is added to a frequency in the denominator: `min` for a text without words, `perWord` for
 * each word of the text, and `max` as the maximum. Storage selects candidates with these values. The maximum of ranking
 * is lower (see `longest`); with the lower maximum, long texts would displace shorter candidates.
 */
export const DAMPING = {
  min: k1 * (1 - b),
  perWord: (k1 * b) / pivotLength,
  max: k1 * (1 - b + (b * WEIGHTS.length.max) / pivotLength),
};

function getDamping(length: number): number {
  return DAMPING.min + DAMPING.perWord * Math.min(length, longest);
}

/**
 * Returns the share of each query word in a match: its weight divided by the mean of the total weight of this query and
 * that of a typical query. For a query with little information, the shares sum to less than 1, so that the vector has
 * more influence; for a long and specific query, the shares sum to up to 2.
 */
export function getWordShares(query: QueryWords): Float64Array {
  const weights = wordWeights(query);
  const normalizer = getNormalizer(weights);
  return weights.map((weight) => weight / normalizer);
}

/** Returns the factor by which the shares of the other words grow if the marked words are left out. */
export function getGainWithout(query: QueryWords, marked: Uint8Array): number {
  const weights = wordWeights(query);
  return getNormalizer(weights) / getNormalizer(weights.filter((_, word) => !marked[word]));
}

/** Returns the divisor that turns weights into shares. */
function getNormalizer(weights: Float64Array): number {
  return (WEIGHTS.bm25.pivotInformation + weights.reduce((sum, weight) => sum + weight, 0)) / 2;
}

/**
 * Returns the weight of each word: ln(1 + M / (n + 3 + e)) for a word in n memories. M replaces the number of memories:
 * the geometric mean of `pivotMemories`, and of the number of memories plus `pivotMemories`. With the actual number of
 * memories, unrelated memories would change scores; with a constant, common words of a large store would seem rare. e
 * is the number of notes of everyday English, out of `pivotMemories`, that would contain the word; n alone is
 * unreliable in a small store.
 */
export function wordWeights({ memoryCount, documentFrequencies, everyday }: QueryWords): Float64Array {
  const { pivotMemories, frequencyOffset } = WEIGHTS.bm25;
  const memories = Math.sqrt(pivotMemories * (pivotMemories + memoryCount));
  return new Float64Array(documentFrequencies).map((frequency, word) =>
    Math.log1p(memories / (frequency + frequencyOffset + pivotMemories * (everyday[word] as number))),
  );
}
