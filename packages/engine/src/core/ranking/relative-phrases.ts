/** The languages whose word forms are known, by their codes in ISO 639-1 (and `nb`, written Norwegian). */
const LANGUAGES = 'en de fr es pt it nl sv da nb fi hu ro tr id ga lt ru el ar hi ta'.split(' ');

/** A day or a week, counted from the present one, which is 0. */
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

/** Further forms of what people say for the last week, yesterday and today. */
const FURTHER: readonly [phrases: string, time: RelativeTime][] = [
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

/** A word of another language too: `ma` is "today" in Hungarian and "but" in Italian. */
const AMBIGUOUS = new Map([['ma', /[őűö]|(?<!\p{L})(?:mi|mit|hol|kivel|mikor)(?!\p{L})/u]]);

interface Phrase {
  words: readonly string[];
  time: RelativeTime;
}

let phrases: ReadonlyMap<string, readonly Phrase[]> | undefined;

// To know the words of so many languages takes some milliseconds, so it waits for the first query that may need them.
function phrasesByFirstWord(): ReadonlyMap<string, readonly Phrase[]> {
  phrases ??= readPhrases();
  return phrases;
}

function readPhrases(): ReadonlyMap<string, readonly Phrase[]> {
  const byFirstWord = new Map<string, Phrase[]>();
  const add = (text: string, time: RelativeTime) => {
    const words = wordsIn(text).map(({ word }) => word);
    const [first = ''] = words;
    byFirstWord.set(first, [...(byFirstWord.get(first) ?? []), { words, time }]);
  };
  for (const language of LANGUAGES) {
    const formatter = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
    for (const time of TIMES) add(formatter.format(time.count, time.unit), time);
  }
  for (const [texts, time] of FURTHER) for (const text of texts.split('|')) add(text, time);
  return byFirstWord;
}

const WORD = /[\p{L}\p{M}\p{N}]+/gu;

function wordsIn(text: string): { word: string; index: number; end: number }[] {
  return Array.from(text.matchAll(WORD), ({ 0: word, index }) => {
    return { word: word.normalize().toLowerCase(), index, end: index + word.length };
  });
}

/**
 * Returns the first day or week that a text names by its distance from the present one ("yesterday", "la semaine
 * dernière"), with the place of its name; of two names that begin there, the longer one. The phrases are those of CLDR, which the language
 * has as `Intl.RelativeTimeFormat`, and some that people say instead.
 */
export function findRelativeTime(text: string): (RelativeTime & { index: number; text: string }) | undefined {
  const words = wordsIn(text);
  for (const [at, { word, index }] of words.entries()) {
    const fitting = (phrasesByFirstWord().get(word) ?? []).filter((phrase) =>
      phrase.words.every((expected, i) => words[at + i]?.word === expected),
    );
    const [longest] = fitting.sort((a, b) => b.words.length - a.words.length);
    const last = longest && words[at + longest.words.length - 1];
    if (!longest || !last || AMBIGUOUS.get(longest.words.join(' '))?.test(text.toLowerCase()) === false) continue;
    return { ...longest.time, index, text: text.slice(index, last.end) };
  }
  return undefined;
}
