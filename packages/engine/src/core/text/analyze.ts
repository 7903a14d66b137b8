import { LanguageEvidence } from './language-evidence.ts';
import { ENGLISH, firstLanguage, languageSet, NO_LANGUAGE } from './languages.ts';
import { scan } from './scan.ts';
import type { Word } from './word.ts';

export { queryWords } from './query-words.ts';

/** Names the rules below; an index holds terms of one version only, and is rebuilt for another. */
export const ANALYZER_VERSION = 2;

/** What an index keeps of a memory: how often each of its terms occurs, and its length in words that count. */
export interface TermFrequencies {
  frequencies: Map<string, number>;
  length: number;
}

export function termFrequencies(text: string): TermFrequencies {
  const frequencies = new Map<string, number>();
  let length = 0;
  function add(term: string, counts: boolean): void {
    frequencies.set(term, (frequencies.get(term) ?? 0) + 1);
    if (counts) length += 1;
  }
  const words: Word[] = [];
  const evidence = new LanguageEvidence();
  scan(text, {
    term: add,
    word: (word) => {
      for (const term of word.terms) add(term.text, term.counts);
      words.push(word);
      evidence.add(word.evidence);
    },
  });
  const { languages, lead } = evidence.best;
  if (lead > 0) length += addForeign(firstLanguage(languages), words, frequencies);
  return { frequencies, length };
}

/**
 * Adds to the terms of a text, which are there as for English, the stems of its words in its own language. Returns by
 * how much that language's stop words, in place of the English ones, change its length.
 */
function addForeign(language: number, words: readonly Word[], frequencies: Map<string, number>): number {
  let change = 0;
  for (const word of words) {
    const counts = word.countsIn(languageSet(language));
    change += Number(counts) - Number(word.countsIn(languageSet(ENGLISH)));
    if (!counts || (word.stemmedIn & languageSet(language)) === NO_LANGUAGE) continue;
    const stem = word.foreignStem(language);
    frequencies.set(stem, (frequencies.get(stem) ?? 0) + 1);
  }
  return change;
}
