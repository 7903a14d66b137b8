import type { Metadata } from '@memoryd/contract';
import { termFrequencies } from '../core/text/analyze.ts';
import { traitsOf } from '../core/text/traits.ts';
import type { Digest } from '../recall-index/entry.ts';
import { termDigest } from './digests.ts';

/** What recall knows a memory by. */
export interface Recallable {
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
export interface Words {
  frequencies: Map<Digest, number>;
  /** Length in words that count. */
  length: number;
  /** See `Traits` in core/text. */
  speaker: number;
  marks: number;
  /** The terms of the speaker's name, in words. */
  speakerTerms: string[];
}

export function wordsOf({ namespace, content, tags }: Pick<Recallable, 'namespace' | 'content' | 'tags'>): Words {
  const { frequencies, length } = termFrequencies(content);
  const { speakerName, speaker, marks } = traitsOf(content, tags);
  const speakerTerms = [...termFrequencies(speakerName).frequencies.keys()];
  return { frequencies: digested(namespace, frequencies), length, speaker, marks, speakerTerms };
}

function digested(namespace: string, frequencies: ReadonlyMap<string, number>): Map<Digest, number> {
  const digests = new Map<Digest, number>();
  for (const [term, frequency] of frequencies) {
    const digest = termDigest(namespace, term);
    digests.set(digest, (digests.get(digest) ?? 0) + frequency);
  }
  return digests;
}
