import { wordShares } from '../../../core/ranking/bm25.ts';
import { datedAmong, dateMatch, personsAmong, speakerTerms, weighed } from '../../../core/ranking/query-terms.ts';
import type { MemoryFilter } from '../../../ports/storage-memories.ts';
import type { SearchRequest } from '../../../ports/storage-search.ts';
import type { Digest } from '../../../recall-index/entry.ts';
import type { RecallIndex } from '../../../recall-index/recall-index.ts';
import { filteredAttributes, SESSION_LABEL, SOURCE_LABEL, SPEAKER_LABEL } from '../../attributes.ts';
import { labelDigest, namespaceDigest, termDigest } from '../../digests.ts';
import { MOST_OF_TEXT } from '../../gather.ts';
import { areTooMany, askedWords, rarestWords, synonymsAmong } from '../../recall-words.ts';

/** What words found, and what else of a query no vector changes. */
export interface FoundByWords {
  /** The best, best first. */
  rows: readonly number[];
  memoryCount: number;
  documentFrequencies: number[];
  /** Synonyms with the places of their words, and the digests of their terms. */
  synonyms: { word: number; weight: number; digest: Digest }[];
  /** For each word of the query, the labels by which it names a speaker. */
  speakers: Digest[][];
  /** See `Signals`. */
  persons: Uint8Array;
  dated: Uint8Array;
  tookMs: number;
}

/**
 * Looks for the query's words. The index is then asked for what passes the filter, and for these words: what is found holds
 * as long as it stays as it is and is asked for nothing else.
 */
export function searchWords(index: RecallIndex, request: SearchRequest): FoundByWords {
  const startedAt = performance.now();
  const { namespace, filter, now } = request;
  const memoryCount = index.ask({
    namespace: namespaceDigest(namespace),
    now,
    labels: labelsOf(namespace, filter),
    filter,
  });
  const digest = (term: string) => termDigest(namespace, term);
  const asked = askedWords(request.text);
  const words = takingPart(index, asked.words, digest);
  const synonyms = synonymsAmong(words, asked);
  // Before the words, which the index is then to find memories by.
  const held = documentFrequenciesOf(
    index,
    synonyms.map(({ term }) => [digest(term)]),
  );
  const documentFrequencies = index.words(digestsOf(words, digest));
  const dated = datedAmong(words, request.date);
  const shares = wordShares({ memoryCount, documentFrequencies });
  const byDate = request.date && { ...request.date, match: dateMatch(shares, dated) };
  return {
    rows: index.bestByWords(shares, {
      count: request.poolSize + request.tailSize,
      mostOfText: MOST_OF_TEXT,
      dated: byDate,
    }),
    memoryCount,
    documentFrequencies,
    synonyms: weighed(synonyms, held, { memoryCount, documentFrequencies }).map(({ word, term, weight }) => ({
      word,
      weight,
      digest: digest(term),
    })),
    speakers: digestsOf(speakerTerms(request.text, words), (term) => labelDigest(namespace, SPEAKER_LABEL, term)),
    persons: personsAmong(words),
    dated,
    tookMs: performance.now() - startedAt,
  };
}

function labelsOf(namespace: string, filter: MemoryFilter): Digest[] {
  const labels: [string, string][] = filteredAttributes(filter);
  if (filter.sessionId !== undefined) labels.push([SESSION_LABEL, filter.sessionId]);
  if (filter.source !== undefined) labels.push([SOURCE_LABEL, filter.source]);
  return labels.map(([name, value]) => labelDigest(namespace, name, value));
}

/** Those of a query's words that take part, each any of some terms: of many, the rarest. */
function takingPart(index: RecallIndex, words: string[][], digest: (term: string) => Digest): string[][] {
  return areTooMany(words) ? rarestWords(words, documentFrequenciesOf(index, digestsOf(words, digest))) : words;
}

function digestsOf(words: readonly string[][], digest: (term: string) => Digest): Digest[][] {
  return words.map((terms) => terms.map(digest));
}

/** In how many memories each of any number of words occurs. The index then has other words for the question's. */
export function documentFrequenciesOf(index: RecallIndex, words: readonly Digest[][]): number[] {
  return inTurns(words, index.mostWords).flatMap((some) => index.words(some));
}

function inTurns(words: readonly Digest[][], most: number): Digest[][][] {
  const turns: Digest[][][] = [];
  for (let from = 0; from < words.length; from += most) turns.push(words.slice(from, from + most));
  return turns;
}
