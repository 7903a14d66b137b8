import {
  areTooMany,
  askedWords,
  type Digest,
  datedAmong,
  personsAmong,
  type Queries,
  rarestWords,
  type SearchRequest,
  speakerTerms,
  synonymsAmong,
  termDigest,
  weighed,
} from '@memoryd/engine/storage-kit';
import { CLOSELY, type Counted, documentFrequencies, ROUGHLY } from './document-frequencies.ts';
import type { Scope } from './scope.ts';

/** The words of a query, each any of some terms, and how many memories hold each. */
export interface Asked {
  words: Digest[][];
  frequencies: number[];
  /** Synonyms that any holds, with the places of their words. */
  synonyms: { word: number; weight: number; term: Digest }[];
  /** For each word, the terms by which it names a speaker. */
  speakers: Digest[][];
  /** See `Signals`. */
  persons: Uint8Array;
  dated: Uint8Array;
}

/** Looks up the words of a query; of many, the rarest take part. */
export async function askWords(
  queries: Queries,
  { namespace, memoryCount }: Scope,
  { text, date }: Pick<SearchRequest, 'text' | 'date'>,
): Promise<Asked> {
  const digest = (term: string) => termDigest(namespace, term);
  const digested = (words: string[][]) => words.map((terms) => terms.map(digest));
  const count = (...lists: Counted[]) => documentFrequencies(queries, namespace, lists, memoryCount);
  const asked = askedWords(text);
  const looked = { words: digested(asked.words), sampled: CLOSELY };
  const words = areTooMany(asked.words) ? rarestWords(asked.words, (await count(looked))[0] as number[]) : asked.words;
  const synonyms = synonymsAmong(words, asked);
  const [frequencies = [], held = []] = await count(
    { words: digested(words), sampled: CLOSELY },
    { words: digested(synonyms.map(({ term }) => [term])), sampled: ROUGHLY },
  );
  return {
    words: digested(words),
    frequencies,
    synonyms: weighed(synonyms, held, { memoryCount, documentFrequencies: frequencies }).map((synonym) => ({
      ...synonym,
      term: digest(synonym.term),
    })),
    speakers: digested(speakerTerms(text, words)),
    persons: personsAmong(words),
    dated: datedAmong(words, date),
  };
}
