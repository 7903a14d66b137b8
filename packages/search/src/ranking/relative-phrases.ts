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
