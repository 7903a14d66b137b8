import type { Chrono } from 'chrono-node';

export type { ParsedComponents, ParsedResult } from 'chrono-node';

const LOCALES = {
  en: () => import('chrono-node/en'),
  de: () => import('chrono-node/de'),
  fr: () => import('chrono-node/fr'),
  es: () => import('chrono-node/es'),
  pt: () => import('chrono-node/pt'),
  nl: () => import('chrono-node/nl'),
  it: () => import('chrono-node/it'),
  sv: () => import('chrono-node/sv'),
  fi: () => import('chrono-node/fi'),
  ru: () => import('chrono-node/ru'),
  uk: () => import('chrono-node/uk'),
  ja: () => import('chrono-node/ja'),
  zh: () => import('chrono-node/zh'),
} satisfies Record<string, () => Promise<{ casual: Chrono }>>;

/** A language in which dates can be read, by its code in ISO 639-1. */
export type DateLanguage = keyof typeof LOCALES;

/** What reads dates in a language. It is loaded with the first of them: a start would take longer by all of them together. */
export async function dateParserOf(language: DateLanguage): Promise<Chrono> {
  return (await LOCALES[language]()).casual;
}
