import { scan } from './scan.ts';
import type { Term } from './word-terms.ts';

export type { Term } from './word-terms.ts';

/** Names the rules below; an index holds terms of one version only, and is rebuilt for another. */
export const ANALYZER_VERSION = 1;

/** The terms of a text in their order; the same rules hold for memories and for queries. */
export function analyze(text: string): Term[] {
  const terms: Term[] = [];
  scan(text, (term, counts) => terms.push({ text: term, counts }));
  return terms;
}

/** What an index keeps of a memory: how often each of its terms occurs, and its length in terms that count. */
export interface TermFrequencies {
  frequencies: Map<string, number>;
  length: number;
}

export function termFrequencies(text: string): TermFrequencies {
  const frequencies = new Map<string, number>();
  let length = 0;
  scan(text, (term, counts) => {
    frequencies.set(term, (frequencies.get(term) ?? 0) + 1);
    if (counts) length += 1;
  });
  return { frequencies, length };
}

/** The distinct terms that a query looks for: those that count, or all of them where none does. */
export function queryTerms(text: string): string[] {
  const counting = new Set<string>();
  const all = new Set<string>();
  scan(text, (term, counts) => {
    all.add(term);
    if (counts) counting.add(term);
  });
  return [...(counting.size > 0 ? counting : all)];
}
