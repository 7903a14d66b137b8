import type { Metadata } from '@memoryd/contract';
import type { Owner } from '../filter.ts';
import type { Digest } from '../index/entry.ts';
import { termFrequencies } from '../text/analyze.ts';
import { ROLE_TAG, readTraits } from '../text/traits.ts';
import { termDigest } from './digests.ts';

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
  externalId: string | null;
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
