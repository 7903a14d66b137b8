import type { Metadata } from '@memoryd/contract';
import { getSynonyms, getWordKinds, type WordSynonym, withoutAsides } from '../core/ranking/query-terms.ts';
import { type ReadQuery, readQuery, termFrequencies } from '../core/text/analyze.ts';
import { ROLE_TAG, readTraits } from '../core/text/traits.ts';
import type { Owner } from '../ports/storage-owner.ts';
import type { QueryWordKinds, SearchRequest } from '../ports/storage-search.ts';
import type { Digest } from '../recall-index/entry.ts';
import { english } from '../synonyms/table.ts';
import { termDigest } from './digests.ts';

/** What recall knows a memory by. */
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

/** What recall knows of a text: its terms as digests, and its traits. */
interface Words {
  frequencies: Map<Digest, number>;
  /** Length in words that count. */
  length: number;
  /** See `Traits` in core/text. */
  speaker: number;
  marks: number;
  /** The terms of the speaker's name, in words. */
  speakerTerms: string[];
}

export function getWords({ namespace, content, tags }: Pick<Recallable, 'namespace' | 'content' | 'tags'>): Words {
  const { frequencies, length } = termFrequencies(content);
  addTagWords(frequencies, tags);
  const { speakerName, speaker, marks } = readTraits(content, tags);
  const speakerTerms = [...termFrequencies(speakerName).frequencies.keys()];
  return { frequencies: digested(namespace, frequencies), length, speaker, marks, speakerTerms };
}

// A tag says what a memory is about as a word does that occurs once. It is no part of the text, whose length stays.
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

/** Most words of a query that are looked up, and most that take part; of more, the rarest that any memory holds. */
const MAX_ASKED = 512;
const MAX_WORDS = 64;

/** What a query says; of its words, each any of some terms, some may have to be left out. See `rarestWords`. */
export function askedWords(text: string): ReadQuery {
  const { words, isForeign } = readQuery(withoutAsides(text));
  return { words: words.slice(0, MAX_ASKED), isForeign };
}

/** The kinds of the words that take part. */
export function kindsOfWords(
  { text, date }: Pick<SearchRequest, 'text' | 'date'>,
  words: readonly string[][],
  { isForeign }: ReadQuery,
): QueryWordKinds {
  return getWordKinds({ text, date, words, isForeign }, english);
}

/** The synonyms of the words that take part. Words of another language only look like English ones, and have none. */
export function synonymsAmong(words: readonly string[][], { isForeign }: ReadQuery): WordSynonym[] {
  return isForeign ? [] : getSynonyms(english, words);
}

export function areTooMany(words: readonly string[][]): boolean {
  return words.length > MAX_WORDS;
}

/** The rarest of words, as many as take part, by how many memories hold each; those that none holds behind all others. */
export function rarestWords(words: readonly string[][], frequencies: readonly number[]): string[][] {
  return words
    .map((word, i) => ({ word, frequency: frequencies[i] as number }))
    .sort((a, b) => Number(a.frequency === 0) - Number(b.frequency === 0) || a.frequency - b.frequency)
    .slice(0, MAX_WORDS)
    .map(({ word }) => word);
}
