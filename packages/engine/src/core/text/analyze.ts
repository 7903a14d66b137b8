import { LanguageEvidence } from './language-evidence.ts';
import { ENGLISH, firstLanguage, languageSet, NO_LANGUAGE } from './languages.ts';
import { scan } from './scan.ts';
import type { Word } from './word.ts';

export { queryWords } from './query-words.ts';

/** Names the rules below; an index holds terms of one version only, and is rebuilt for another. */
export const ANALYZER_VERSION = 6;

/** What an index keeps of a memory: how often each of its terms occurs, and its length in words that count. */
export interface TermFrequencies {
  frequencies: Map<string, number>;
  length: number;
}

/**
 * What a text is about comes first: of a text of at least so many words that count, the terms of the first ones occur
 * once more than they stand there. Measured in docs/decisions/0005; any number from 8 to 20 is about as good.
 */
const OPENING = { words: 15, ofAtLeast: 30 } as const;

export function termFrequencies(text: string): TermFrequencies {
  const frequencies = new Map<string, number>();
  const opening = new Set<string>();
  let length = 0;
  function add(term: string, counts: boolean): void {
    occur(frequencies, term);
    if (length < OPENING.words) opening.add(term);
    if (counts) length += 1;
  }
  const words: Word[] = [];
  let openingWords = 0;
  const evidence = new LanguageEvidence();
  scan(text, {
    term: add,
    word: (word) => {
      words.push(word);
      if (length < OPENING.words) openingWords = words.length;
      for (const term of word.terms) add(term.text, term.counts);
      evidence.add(word.evidence);
    },
  });
  const { languages, lead } = evidence.best;
  if (lead > 0) {
    const foreign = foreignOf(firstLanguage(languages), words);
    length += foreign.lengthChange;
    for (const { stem, place } of foreign.stems) {
      occur(frequencies, stem);
      if (place < openingWords) opening.add(stem);
    }
  }
  if (length >= OPENING.ofAtLeast) for (const term of opening) occur(frequencies, term);
  return { frequencies, length };
}

function occur(frequencies: Map<string, number>, term: string): void {
  frequencies.set(term, (frequencies.get(term) ?? 0) + 1);
}

/**
 * What comes to the terms of a text, which are there as for English: the stems of its words in its own language, with
 * the places of the words, and by how much that language's stop words, in place of the English ones, change its length.
 */
function foreignOf(language: number, words: readonly Word[]) {
  const stems: { stem: string; place: number }[] = [];
  let lengthChange = 0;
  for (const [place, word] of words.entries()) {
    const counts = word.countsIn(languageSet(language));
    lengthChange += Number(counts) - Number(word.countsIn(languageSet(ENGLISH)));
    if (!counts || (word.stemmedIn & languageSet(language)) === NO_LANGUAGE) continue;
    stems.push({ stem: word.foreignStem(language), place });
  }
  return { stems, lengthChange };
}
