import { ENGLISH, LANGUAGE_COUNT, type LanguageSet, languageSet, NO_LANGUAGE } from './languages.ts';

/** What the words of a text say about its language, among those in Latin letters. */
export class LanguageEvidence {
  readonly #words: number[] = new Array(LANGUAGE_COUNT).fill(0);

  /** Counts a word for each language of which it is evidence. */
  add(languages: LanguageSet): void {
    for (let rest = languages; rest !== 0; rest &= rest - 1) {
      const language = 31 - Math.clz32(rest & -rest);
      this.#words[language] = (this.#words[language] as number) + 1;
    }
  }

  /** The languages other than English that most words speak for, and by how many words more than for English. */
  get best(): { languages: LanguageSet; lead: number } {
    let most = 0;
    let languages = NO_LANGUAGE;
    for (let language = ENGLISH + 1; language < LANGUAGE_COUNT; language += 1) {
      const words = this.#words[language] as number;
      if (words > most) languages = NO_LANGUAGE;
      most = Math.max(most, words);
      if (words > 0 && words === most) languages |= languageSet(language);
    }
    return { languages, lead: most - (this.#words[ENGLISH] as number) };
  }
}
