import type { Metadata } from '@memoryd/contract';
import type { Digest } from '../index/entry.ts';
import type { Owner } from '../owner.ts';
import { getSynonyms, getWordKinds, type WordSynonym, withoutAsides } from '../ranking/query-terms.ts';
import type { QueryWordKinds } from '../ranking/signals.ts';
import { english } from '../synonyms/table.ts';
import { type ReadQuery, readQuery, termFrequencies } from '../text/analyze.ts';
import { ROLE_TAG, readTraits } from '../text/traits.ts';
import { termDigest } from './digests.ts';
import type { SearchRequest } from './search.ts';

/** The fields of a memory from which its index entry is built. */
export interface Recallable extends Owner {
  namespace: string;
  sessionId: string | null;
  source: string;
  createdAt: number;
  storedAt: number;
  importance: number;
  tags: readonly string[];
  metadata: Metadata;
  content: string;
}

/** The indexed terms of a text, as digests, and the traits of the text. */
interface Words {
  frequencies: Map<Digest, number>;
  /** Length in indexed words. */
  length: number;
  /** See `Traits` of text/. */
  speaker: number;
  marks: number;
  /** The terms of the speaker's name, as text. */
  speakerTerms: string[];
}

export function getWords({ namespace, content, tags }: Pick<Recallable, 'namespace' | 'content' | 'tags'>): Words {
  const { frequencies, length } = termFrequencies(content);
  addTagWords(frequencies, tags);
  const { speakerName, speaker, marks } = readTraits(content, tags);
  const speakerTerms = [...termFrequencies(speakerName).frequencies.keys()];
  return { frequencies: digested(namespace, frequencies), length, speaker, marks, speakerTerms };
}

// Adds each tag term that is not in the text, with a frequency of 1. Skips role tags. Tags do not add to the length of
// the text.
function addTagWords(frequencies: Map<string, number>, tags: readonly string[]): void {
  for (const tag of tags) {
    if (tag.startsWith(ROLE_TAG)) continue;
    for (const term of termFrequencies(tag).frequencies.keys()) {
      if (!frequencies.has(term)) frequencies.set(term, 1);
    }
  }
}

function digested(namespace: string, frequencies: ReadonlyMap<string, number>): Map<Digest, number> {
  const digests = new Map<Digest, number>();
  for (const [term, frequency] of frequencies) {
    const digest = termDigest(namespace, term);
    digests.set(digest, (digests.get(digest) ?? 0) + frequency);
  }
  return digests;
}

/** Maximum query words whose frequencies are looked up. */
const MAX_LOOKED_UP = 512;

/** Maximum query words that are searched: the rarest words. */
const MAX_WORDS = 64;

/**
 * Parses a query into at most MAX_LOOKED_UP words. Each word is a list of alternative terms. The caller must reduce
 * more than MAX_WORDS words with `getRarestWords`.
 */
export function parseQueryWords(text: string): ReadQuery {
  const { words, isForeign } = readQuery(withoutAsides(text));
  return { words: words.slice(0, MAX_LOOKED_UP), isForeign };
}

/** Returns the kinds of the words of a query, such as names and words of a date. */
export function getQueryWordKinds(
  { text, date }: Pick<SearchRequest, 'text' | 'date'>,
  words: readonly string[][],
  { isForeign }: ReadQuery,
): QueryWordKinds {
  return getWordKinds({ text, date, words, isForeign }, english);
}

/** Returns the synonyms of the searched words; none for a query in another language than English. */
export function getQuerySynonyms(words: readonly string[][], { isForeign }: ReadQuery): WordSynonym[] {
  return isForeign ? [] : getSynonyms(english, words);
}

export function areTooMany(words: readonly string[][]): boolean {
  return words.length > MAX_WORDS;
}

/**
 * Returns the rarest words, at most MAX_WORDS. Words that occur in no memory come last.
 *
 * @param frequencies number of memories that contain each word
 */
export function getRarestWords(words: readonly string[][], frequencies: readonly number[]): string[][] {
  return words
    .map((word, i) => ({ word, frequency: frequencies[i] as number }))
    .sort((a, b) => Number(a.frequency === 0) - Number(b.frequency === 0) || a.frequency - b.frequency)
    .slice(0, MAX_WORDS)
    .map(({ word }) => word);
}
