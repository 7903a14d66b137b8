import { LanguageEvidence } from './language-evidence.ts';
import { firstLanguage, languageSet, NO_LANGUAGE } from './languages.ts';
import { queryWords } from './query-words.ts';
import { scan } from './scan.ts';
import type { Word } from './word.ts';

/** A word as it stands in a text. */
interface Written {
  word: Word;
  as: string;
}

/**
 * What tells which words of a text match words of a query, as an index of the text would find them: each once, as it is
 * written there, those without stems first. It looks at so many UTF-16 units of all texts that it is given, and at nothing
 * beyond.
 */
export function wordMatcher(query: string, mostUnits: number): (text: string) => string[] {
  const wanted = new Set(queryWords(query).flat());
  let left = mostUnits;
  return (text) => {
    const looked = text.slice(0, left);
    left -= looked.length;
    return matchedWords(looked, wanted);
  };
}

function matchedWords(text: string, wanted: ReadonlySet<string>): string[] {
  const matched = new Set<string>();
  const others: Written[] = [];
  const evidence = new LanguageEvidence();
  scan(text, {
    term: (term, _counts, start, end) => {
      if (wanted.has(term)) matched.add(text.slice(start, end));
    },
    word: (word, start, end) => {
      evidence.add(word.evidence);
      const as = text.slice(start, end);
      if (word.terms.some((term) => wanted.has(term.text))) matched.add(as);
      else others.push({ word, as });
    },
  });
  const { languages, lead } = evidence.best;
  if (lead > 0) addForeign(firstLanguage(languages), others, wanted, matched);
  return [...matched];
}

/** Adds words of a text whose stem in its own language is wanted. */
function addForeign(
  language: number,
  written: readonly Written[],
  wanted: ReadonlySet<string>,
  matched: Set<string>,
): void {
  const own = languageSet(language);
  for (const { word, as } of written) {
    if ((word.stemmedIn & own) !== NO_LANGUAGE && wanted.has(word.foreignStem(language))) matched.add(as);
  }
}
