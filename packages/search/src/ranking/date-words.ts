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

/** Loads the date parser of a language on first use; loading the parsers of all languages would delay the start. */
export async function loadDateParser(language: DateLanguage): Promise<Chrono> {
  return (await LOCALES[language]()).casual;
}

/** Languages whose dates are recognized by words. Japanese and Chinese dates are recognized by characters such as 年. */
const WORD_BASED: readonly DateLanguage[] = ['en', 'de', 'fr', 'es', 'pt', 'nl', 'it', 'sv', 'fi', 'ru', 'uk'];

interface DateWords {
  /**
   * Languages of each date word. A query is parsed only in the languages of its date words and date formats, because
   * parsing is slow and few queries name a date.
   */
  languages: Map<string, Set<DateLanguage>>;
  weeks: Set<string>;
}

let loadedWords: DateWords | undefined;

// Computed for the first query that needs the words, since the computation would delay the start.
function getDateWords(): DateWords {
  loadedWords ??= readDateWords();
  return loadedWords;
}

function readDateWords(): DateWords {
  const languages = new Map<string, Set<DateLanguage>>();
  const weeks = new Set<string>();
  for (const language of WORD_BASED) {
    const weekWords = getRelativeWords(language, 'week');
    const others = RELATIVE_UNITS.flatMap((unit) => getRelativeWords(language, unit));
    for (const word of [...getMonthNames(language), ...getWeekdayNames(language), ...weekWords, ...others]) {
      languages.set(word, (languages.get(word) ?? new Set()).add(language));
    }
    for (const word of weekWords) if (!others.includes(word)) weeks.add(word);
  }
  return { languages, weeks };
}

/** Returns full and short names of months, alone and with a day, since some languages inflect a month after a day. */
function getMonthNames(language: string): string[] {
  const formats: Intl.DateTimeFormatOptions[] = [
    { month: 'long' },
    { month: 'short' },
    { month: 'long', day: 'numeric' },
    { month: 'short', day: 'numeric' },
  ];
  const months = Array.from({ length: 12 }, (_, month) => Date.UTC(2026, month, 15));
  return formats.flatMap((format) => getParts(language, format, 'month', months));
}

function getWeekdayNames(language: string): string[] {
  const days = Array.from({ length: 7 }, (_, day) => Date.UTC(2026, 0, day + 1));
  return getParts(language, { weekday: 'long' }, 'weekday', days);
}

function getParts(language: string, format: Intl.DateTimeFormatOptions, type: string, times: number[]): string[] {
  const formatter = new Intl.DateTimeFormat(language, { ...format, timeZone: 'UTC' });
  return times
    .flatMap((time) => formatter.formatToParts(time))
    .filter((part) => part.type === type)
    .flatMap(({ value }) => getWords(value));
}

const RELATIVE_UNITS = ['day', 'month', 'year'] as const;

/**
 * Numbers of units ago: 0 and 1 for the current and the last unit, 2 and 5 for the plurals, of which Slavic languages
 * have two.
 */
const AGO = [0, 1, 2, 5];

/** Minimum characters of a word in a phrase of several words; shorter words occur in many queries. */
const MIN_PHRASE_WORD_CHARS = 4;

/** Returns the words of phrases such as "yesterday", "this week" and "two months ago". */
function getRelativeWords(language: string, unit: Intl.RelativeTimeFormatUnit): string[] {
  const formatter = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
  return AGO.map((count) => getWords(formatter.format(-count, unit))).flatMap((words) =>
    words.filter((word) => words.length === 1 || word.length >= MIN_PHRASE_WORD_CHARS),
  );
}

/** Returns the words of a text in lower case. */
export function getWords(text: string): string[] {
  return text.toLowerCase().match(/\p{L}+/gu) ?? [];
}

const NUMERIC_DATE = /[0-9]{1,4}[-/][0-9]{1,2}[-/][0-9]{1,4}/;
const DOTTED_DATE = /[0-9]{1,2}\.\s?[0-9]{1,2}\.\s?[0-9]{2,4}/;
const EAST_ASIAN_DATE = /[0-9]\s*[年月]|[昨今]日|[昨今前]天/;

/** Returns the languages in which a text may contain a date. */
export function getDateLanguages(text: string): Set<DateLanguage> {
  const languages = new Set<DateLanguage>();
  // The German parser reads the day first, as in a date with dots.
  if (DOTTED_DATE.test(text)) languages.add('de');
  if (NUMERIC_DATE.test(text)) languages.add('en');
  if (EAST_ASIAN_DATE.test(text)) languages.add('ja').add('zh');
  for (const word of getWords(text)) for (const each of getDateWords().languages.get(word) ?? []) languages.add(each);
  return languages;
}

const WORDS_BEFORE = 4;
const WORDS_AFTER = 3;
const WORD_OR_NUMBER = /[\p{L}\p{N}]+/gu;

/**
 * Returns the part of a text around the first date word of a language: the word, up to four words before and up to
 * three words after the word. The part is about as long as a date.
 */
export function aroundDateWord(text: string, language: DateLanguage): string {
  const words = [...text.matchAll(WORD_OR_NUMBER)];
  const at = words.findIndex(([word]) => getDateWords().languages.get(word.toLowerCase())?.has(language));
  const from = words[Math.max(0, at - WORDS_BEFORE)];
  const last = words[Math.min(words.length - 1, at + WORDS_AFTER)];
  return from && last ? text.slice(from.index, last.index + last[0].length) : '';
}

/** Returns true if a text has a word for "week" in any language of `WORD_BASED`. */
export function namesWeeks(text: string): boolean {
  return getWords(text).some((word) => getDateWords().weeks.has(word));
}

/** The languages with a stemmer, by their ISO 639-1 codes (`nb` is written Norwegian). */
const LANGUAGES = 'en de fr es pt it nl sv da nb fi hu ro tr id ga lt ru el ar hi ta'.split(' ');

/** A day or a week relative to the current one, which is 0. */
export interface RelativeTime {
  unit: 'day' | 'week';
  count: number;
}

const TIMES: readonly RelativeTime[] = [
  { unit: 'day', count: 0 },
  { unit: 'day', count: -1 },
  { unit: 'week', count: 0 },
  { unit: 'week', count: -1 },
];

/** Other common phrases for last week, yesterday and today. */
const OTHER_PHRASES: readonly [phrases: string, time: RelativeTime][] = [
  [
    `semaine passée|semaine dernière|semana passada|semana pasada|settimana scorsa|settimana passata|letzter Woche|
    vergangene Woche|afgelopen week|sist uke|i forrige uke|i sidste uge|forrige uge|múlt héten|előző héten|minggu kemarin|
    pekan lalu|praeitą savaitę|praėjusią savaitę|прошлой неделе|περασμένη εβδομάδα|προηγούμενη εβδομάδα|الاسبوع الماضي|
    पिछले हफ्ते|पिछले हफ़्ते|पिछले सप्ताह|போன வாரம்|tseachtain seo caite|tseachtain seo chaite`,
    { unit: 'week', count: -1 },
  ],
  ['igår|χτες|امس|البارحة|बीते कल|ontem à noite', { unit: 'day', count: -1 }],
  ['idag|astăzi|de hoy', { unit: 'day', count: 0 }],
];

/**
 * Phrases that are also words of another language. A phrase is used only if the text matches its pattern: `ma` is
 * "today" in Hungarian and "but" in Italian.
 */
const AMBIGUOUS = new Map([['ma', /[őűö]|(?<!\p{L})(?:mi|mit|hol|kivel|mikor)(?!\p{L})/u]]);

interface Phrase {
  words: readonly string[];
  time: RelativeTime;
}

let phrases: ReadonlyMap<string, readonly Phrase[]> | undefined;

// Computed for the first query that needs the phrases, since the computation takes some milliseconds.
function getPhrasesByFirstWord(): ReadonlyMap<string, readonly Phrase[]> {
  phrases ??= readPhrases();
  return phrases;
}

function readPhrases(): ReadonlyMap<string, readonly Phrase[]> {
  const byFirstWord = new Map<string, Phrase[]>();
  const add = (text: string, time: RelativeTime) => {
    const words = findWords(text).map(({ word }) => word);
    const [first = ''] = words;
    byFirstWord.set(first, [...(byFirstWord.get(first) ?? []), { words, time }]);
  };
  for (const language of LANGUAGES) {
    const formatter = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
    for (const time of TIMES) add(formatter.format(time.count, time.unit), time);
  }
  for (const [texts, time] of OTHER_PHRASES) for (const text of texts.split('|')) add(text, time);
  return byFirstWord;
}

const WORD = /[\p{L}\p{M}\p{N}]+/gu;

function findWords(text: string): { word: string; index: number; end: number }[] {
  return Array.from(text.matchAll(WORD), ({ 0: word, index }) => {
    return { word: word.normalize().toLowerCase(), index, end: index + word.length };
  });
}

/**
 * Finds the first day or week that a text names relative to the current one ("yesterday", "la semaine dernière"), with
 * the position of the phrase. Of several phrases at this position, returns the longest. The phrases are those of CLDR,
 * which `Intl.RelativeTimeFormat` provides, and `OTHER_PHRASES`.
 */
export function findRelativeTime(text: string): (RelativeTime & { index: number; text: string }) | undefined {
  const words = findWords(text);
  for (const [at, { word, index }] of words.entries()) {
    const matching = (getPhrasesByFirstWord().get(word) ?? []).filter((phrase) =>
      phrase.words.every((expected, i) => words[at + i]?.word === expected),
    );
    const [longest] = matching.sort((a, b) => b.words.length - a.words.length);
    const last = longest && words[at + longest.words.length - 1];
    if (!longest || !last || AMBIGUOUS.get(longest.words.join(' '))?.test(text.toLowerCase()) === false) continue;
    return { ...longest.time, index, text: text.slice(index, last.end) };
  }
  return undefined;
}
