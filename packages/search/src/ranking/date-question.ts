import { DATE_QUESTION_WORDS, type DateQuestionWords, type DateWord } from './date-question-words.ts';

/** A period in wall-clock time, in milliseconds; `until` is exclusive. */
export interface WallPeriod {
  from: number;
  until: number;
  /** Start of the fringe, if it begins before the period: a week may begin on Sunday or on Monday. */
  fringeFrom?: number;
}

/** A word of a question: a date word, a number, a weekday from 0 for Sunday, a month from 0, or a date in digits. */
type Token =
  | { kind: 'word'; word: DateWord }
  | { kind: 'number'; value: number; isOrdinal: boolean }
  | { kind: 'weekday'; weekday: number }
  | { kind: 'month'; month: number }
  | { kind: 'date'; from: number };

type Meaning = Token | 'filler';

/** Maximum length of a question that is read as a date, in UTF-16 units. */
const MAX_CHARS = 120;

/**
 * Returns the period of a question that consists of a date, such as "what did we do on Monday?", "Monday" or "in October
 * 2026"; undefined for any other question. Such a question has only date words and words such as "what", "we" and
 * "happen". A weekday, day or month without a year is the latest one up to now; "last Monday" is a day before this week.
 *
 * @param now wall-clock time of the asker, in milliseconds
 */
export function readDateQuestion(question: string, now: number): WallPeriod | undefined {
  if (question.length > MAX_CHARS) return undefined;
  const text = fold(question);
  if (NO_MONTH.test(text)) return undefined;
  for (const [language, words] of Object.entries(DATE_QUESTION_WORDS)) {
    const tokens = readTokens(text, getLexicon(language, words));
    const period = tokens && new DateReader(words, now).read(tokens);
    if (period) return period;
  }
  return undefined;
}

/** Matches months that are also names or verbs, such as May, unless alone or after a day or a preposition. */
const NO_MONTH =
  /(?<!^|[0-9](?:st|nd|rd|th)?\s|\b(?:in|of|since|before|after|until|till|during|from|to|and|between|last|this|early|late)\s)\b(?:march|april|may|june|august)\b/;

/** Compares without accents, which people leave out. Marks of Japanese letters stay. */
function fold(text: string): string {
  const folded = text
    .normalize('NFKD')
    .replace(/(?<=[a-z])\p{M}+/giu, '')
    .normalize('NFC');
  return folded.toLowerCase().replace(/\s+/g, ' ');
}

interface Lexicon {
  meanings: Map<string, Meaning>;
  /** Words of the longest phrase, or characters of the longest word of a language without blanks. */
  longest: number;
  isUnspaced: boolean;
  isMonthFirst: boolean | undefined;
}

const lexicons = new Map<string, Lexicon>();

// Read for the first question, since reading takes a few milliseconds.
function getLexicon(language: string, words: DateQuestionWords): Lexicon {
  const known = lexicons.get(language);
  if (known) return known;
  const meanings = new Map<string, Meaning>();
  const isUnspaced = words.isUnspaced === true;
  const add = (text: string, meaning: Meaning) => meanings.set(text, meaning);
  const fillers = split(words.fillers);
  if (!isUnspaced) addNames(language, add);
  split(words.numbers, ' ').forEach((forms, i) => {
    for (const form of forms.split('|')) add(form, { kind: 'number', value: i + 1, isOrdinal: false });
  });
  for (const [word, forms] of Object.entries(words.words)) {
    for (const form of split(forms)) add(form, { kind: 'word', word: word as DateWord });
  }
  for (const [name, weekday] of Object.entries(words.weekdays ?? {})) add(name, { kind: 'weekday', weekday });
  for (const filler of [...fillers, ...split(words.phrases ?? '', '|')]) {
    const known = meanings.get(filler);
    if (typeof known !== 'object' || known.kind !== 'word') add(filler, 'filler');
  }
  const length = (text: string) => (isUnspaced ? text.length : text.split(' ').length);
  const { isMonthFirst } = words;
  const lexicon = { meanings, isUnspaced, isMonthFirst, longest: Math.max(...[...meanings.keys()].map(length)) };
  lexicons.set(language, lexicon);
  return lexicon;
}

/** Splits a list at `|` if it has any, else at blanks. */
function split(list: string, separator: '|' | ' ' = list.includes('|') ? '|' : ' '): string[] {
  return fold(list)
    .split(separator)
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

function addNames(language: string, add: (text: string, meaning: Meaning) => void): void {
  for (const style of ['long', 'short'] as const) {
    const weekday = new Intl.DateTimeFormat(language, { weekday: style, timeZone: 'UTC' });
    const month = new Intl.DateTimeFormat(language, { month: style, timeZone: 'UTC' });
    // 1 February 2026 is a Sunday.
    for (let i = 0; i < 7; i++) add(toName(weekday.format(Date.UTC(2026, 1, 1 + i))), { kind: 'weekday', weekday: i });
    for (let i = 0; i < 12; i++) add(toName(month.format(Date.UTC(2026, i, 1))), { kind: 'month', month: i });
  }
}

const toName = (text: string) => fold(text).replace('.', '');

const NUMERIC_DATE =
  /^(?:((?:19|20)[0-9]{2})([-/.]?)([0-9]{2}|(?<=[-/.])[0-9])\2([0-9]{2}|(?<=[-/.])[0-9])|([0-9]{1,2})([-/.]) ?([0-9]{1,2})\6 ?((?:19|20)[0-9]{2}))(?![0-9])/;
/** Digits alone do not tell the language. */
const LETTER = /\p{L}/u;
/** The time after a date, as in 2026-11-24T10:00Z. */
const TIME_OF_DAY = /^t[0-9]{2}(?::?[0-9]{2}){0,2}(?:\.[0-9]+)?z?(?![0-9])/;
/** A day and a month without a year: 24.11. or 11/24. */
const DAY_AND_MONTH = /^(?:([0-9]{1,2})\. ?([0-9]{1,2})\.?|([0-9]{1,2})\/([0-9]{1,2}))(?![0-9./])/;
const NUMBER = /^([0-9]{1,4})(?:(st|nd|rd|th|er|\.)(?!\p{L}))?/u;
/** Articles and prepositions before the number of a day, in German, French and Spanish. */
const BEFORE_DAY = /\b(?:am|den|dem|le|du|au|el|del|al|dia)\s$/;
const QUARTER = /^q([1-4])(?![\p{L}0-9])/u;
const BETWEEN = /^(?: ?[–—~〜] ?| - |-(?=[0-9]))/;
const BLANK = /^[\s\p{P}\p{S}]+/u;
const SPACED_WORD = /^[\p{L}\p{M}]+/u;

/** Weekdays in Chinese, with the week that they are of, and in Japanese; months, days and years in both. */
const EAST_ASIAN_WEEKDAY =
  /^(?:([上这這本]) ?[个個]?)?(?:周|週|星期|礼拜|禮拜)([日一二三四五六天])|^([日月火水木金土])曜日?/;
const EAST_ASIAN_MONTH = /^([0-9]{1,2}|十[一二]?|[一二三四五六七八九])月(?![間前])(?:份|中)?/;
const EAST_ASIAN_NUMBER = /^[一二三四五六七八九十]+(?!半期)/;

/** Returns the date words of a text; undefined if the text has any other word. */
function readTokens(text: string, lexicon: Lexicon): Token[] | undefined {
  const tokens: Token[] = [];
  for (let at = 0; at < text.length; ) {
    const [found, length] = readToken(text, at, lexicon) ?? [undefined, 0];
    if (!found) return undefined;
    for (const token of found) {
      if (!isWord(token, 'past')) tokens.push(token);
      else if (isDateName(tokens.at(-1)) || isBeforeDateName(text, at + length, lexicon)) tokens.push(word('last'));
    }
    at += length;
  }
  return tokens;
}

function isDateName(token: Token | undefined): boolean {
  return toUnit(token) !== undefined || token?.kind === 'weekday' || token?.kind === 'month';
}

/** Returns true if the next word names a day, a month or a unit, as in "el pasado lunes". */
function isBeforeDateName(text: string, at: number, lexicon: Lexicon): boolean {
  const blank = BLANK.exec(text.slice(at))?.[0].length ?? 0;
  const [next] = readToken(text, at + blank, lexicon) ?? [];
  return next !== undefined && isDateName(next[0]);
}

type Read = [tokens: Token[], length: number];

const word = (name: DateWord): Token => ({ kind: 'word', word: name });
const number = (value: number, isOrdinal = false): Token => ({ kind: 'number', value, isOrdinal });

function readToken(text: string, at: number, lexicon: Lexicon): Read | undefined {
  const rest = text.slice(at);
  const date = NUMERIC_DATE.exec(rest);
  if (date) return readNumericDate(date, rest);
  const partial = DAY_AND_MONTH.exec(rest);
  const dayAndMonth = partial && readDayAndMonth(partial, LETTER.test(text) ? lexicon.isMonthFirst : undefined);
  if (dayAndMonth) return dayAndMonth;
  const quarter = QUARTER.exec(rest);
  if (quarter) return [[number(Number(quarter[1])), word('quarter')], quarter[0].length];
  const between = BETWEEN.exec(rest);
  if (between) return [[word('and')], between[0].length];
  const blank = BLANK.exec(rest);
  if (blank) return [[], blank[0].length];
  if (lexicon.isUnspaced) {
    const read = readEastAsian(rest);
    if (read) return read;
  }
  const digits = NUMBER.exec(rest);
  if (digits) {
    const isOrdinal = digits[2] !== undefined || BEFORE_DAY.test(text.slice(0, at));
    return [[number(Number(digits[1]), isOrdinal)], digits[0].length];
  }
  return lexicon.isUnspaced ? readUnspaced(rest, lexicon) : readPhrase(rest, lexicon);
}

function readNumericDate(
  [text, year, , month, day, first, separator, second, lastYear]: RegExpExecArray,
  rest: string,
): Read | undefined {
  if (year !== undefined) return toDate(Number(year), Number(month), Number(day));
  const [left, right] = [Number(first), Number(second)];
  // With slashes, either number can be the month.
  if (separator === '/' && left <= 12 && right <= 12 && left !== right) return undefined;
  return right > 12 ? toDate(Number(lastYear), left, right) : toDate(Number(lastYear), right, left);

  function toDate(ofYear: number, ofMonth: number, ofDay: number): Read | undefined {
    const from = Date.UTC(ofYear, ofMonth - 1, ofDay);
    const length = text.length + (TIME_OF_DAY.exec(rest.slice(text.length))?.[0].length ?? 0);
    return new Date(from).getUTCDate() === ofDay ? [[{ kind: 'date', from }], length] : undefined;
  }
}

function readDayAndMonth(
  [text, dotted, afterDot, left, right]: RegExpExecArray,
  isMonthFirst: boolean | undefined,
): Read | undefined {
  const [first, second] = [Number(dotted ?? left), Number(afterDot ?? right)];
  // A version such as 2.1 is no date where dates have no dots. With slashes, a number above 12 is the day.
  if (dotted !== undefined && isMonthFirst !== false && !text.endsWith('.')) return undefined;
  const isUnclear = dotted === undefined && isMonthFirst === undefined && first <= 12 && second <= 12;
  const isFirstMonth = dotted === undefined && (second > 12 || (isMonthFirst === true && first <= 12));
  const [day, month] = isFirstMonth ? [second, first] : [first, second];
  if (isUnclear || month < 1 || month > 12 || day < 1 || day > 31) return undefined;
  return [[number(day, true), { kind: 'month', month: month - 1 }], text.length];
}

const CHINESE_WEEKDAYS = '日一二三四五六';
const JAPANESE_WEEKDAYS = '日月火水木金土';

function readEastAsian(rest: string): Read | undefined {
  const weekday = EAST_ASIAN_WEEKDAY.exec(rest);
  if (weekday) {
    const [text, week, chinese = '', japanese = ''] = weekday;
    const day = chinese ? CHINESE_WEEKDAYS.indexOf(chinese.replace('天', '日')) : JAPANESE_WEEKDAYS.indexOf(japanese);
    const ofWeek = week === undefined ? [] : [word(week === '上' ? 'last' : 'this'), word('week')];
    return [[...ofWeek, { kind: 'weekday', weekday: day }], text.length];
  }
  const month = EAST_ASIAN_MONTH.exec(rest);
  if (month) return [[{ kind: 'month', month: toNumber(month[1] as string) - 1 }], month[0].length];
  const digits = EAST_ASIAN_NUMBER.exec(rest);
  // 一昨日 is the day before yesterday.
  return digits && !rest.startsWith('一昨') ? [[number(toNumber(digits[0]))], digits[0].length] : undefined;
}

/** Returns the number of digits, or of Chinese numerals up to 39. */
function toNumber(text: string): number {
  if (/^[0-9]/.test(text)) return Number(text);
  const [tens, ones] = text.includes('十') ? text.split('十') : ['', text];
  const digit = (numeral = '') => '一二三四五六七八九'.indexOf(numeral) + 1;
  return (text.includes('十') ? 10 * (digit(tens || '一') || 1) : 0) + (ones ? digit(ones) : 0);
}

function readUnspaced(rest: string, { meanings, longest }: Lexicon): Read | undefined {
  for (let length = Math.min(longest, rest.length); length > 0; length--) {
    const meaning = meanings.get(rest.slice(0, length));
    if (meaning) return [meaning === 'filler' ? [] : [meaning], length];
  }
  return undefined;
}

function readPhrase(rest: string, { meanings, longest }: Lexicon): Read | undefined {
  const ends: number[] = [];
  for (let at = 0; ends.length < longest; ) {
    const found = SPACED_WORD.exec(rest.slice(at));
    if (!found) break;
    ends.push(at + found[0].length);
    at = (ends.at(-1) as number) + (/^[\s.'’-]+/.exec(rest.slice(ends.at(-1)))?.[0].length ?? 0);
  }
  for (const end of ends.reverse()) {
    const phrase = rest.slice(0, end).replace(/[\s.'’-]+/g, ' ');
    const meaning = meanings.get(phrase);
    if (meaning) return [meaning === 'filler' ? [] : [meaning], end];
  }
  return undefined;
}

/** The fields of a date. `ordinalDay` is a day whose number shows that it is one, such as "23rd". */
type DateFields = { [name in 'year' | 'month' | 'day' | 'ordinalDay' | 'quarter']?: number };

/** Units that follow a number in a date, as in Japanese, or precede it, as in "im Jahr 2024". */
const DATE_UNITS: ReadonlySet<DateWord | undefined> = new Set(['day', 'month', 'year', 'quarter']);

/** Numbers that are years. */
const [FIRST_YEAR, LAST_YEAR] = [1900, 2199];

const DAY_MS = 86_400_000;
const FIRST_MS = Date.parse('0000-01-01T00:00:00Z');

/** Reads date words in any order of words, as languages differ in it: "vor drei Tagen", "three days ago". */
class DateReader {
  readonly #words: DateQuestionWords;
  readonly #now: number;
  readonly #today: number;

  constructor(words: DateQuestionWords, now: number) {
    this.#words = words;
    this.#now = now;
    this.#today = Math.floor(now / DAY_MS) * DAY_MS;
  }

  read(given: readonly Token[]): WallPeriod | undefined {
    const tokens = joinBeforeLast(given);
    return this.#readRange(tokens) ?? this.#readBound(tokens) ?? this.#readPeriod(tokens);
  }

  #readRange(tokens: readonly Token[]): WallPeriod | undefined {
    for (const [at, token] of tokens.entries()) {
      if (!isWord(token, 'and') && !isWord(token, 'until')) continue;
      const last = this.#readPeriod(tokens.slice(at + 1));
      const first = last && this.#readFirst(tokens.slice(0, at), tokens.slice(at + 1));
      if (first && last && first.from < last.until) return { from: first.from, until: last.until };
    }
    return undefined;
  }

  // "20 to 22 November 2026": the first day has the month and the year of the last.
  #readFirst(first: readonly Token[], last: readonly Token[]): WallPeriod | undefined {
    const isYear = (token: Token) => token.kind === 'number' && token.value > 31;
    const hasMonth = first.some(({ kind }) => kind === 'month');
    const lent = last.filter(
      (token) => (token.kind === 'month' && !hasMonth) || (isYear(token) && !first.some(isYear)),
    );
    const canLend =
      first.length > 0 && first.every(({ kind }) => kind === 'number' || kind === 'month' || kind === 'word');
    return this.#readPeriod(canLend ? [...first, ...lent] : first);
  }

  #readBound(tokens: readonly Token[]): WallPeriod | undefined {
    const { bound, rest } = this.#takeBound(tokens);
    const period = bound && this.#readPeriod(rest);
    if (!period) return undefined;
    switch (bound) {
      case 'since':
        return { from: period.from, until: this.#now + 1 };
      case 'after':
        return { from: period.until, until: this.#now + 1 };
      case 'before':
        return { from: FIRST_MS, until: period.from };
      default:
        return { from: FIRST_MS, until: period.until };
    }
  }

  #takeBound(tokens: readonly Token[]): { bound?: DateWord; rest: Token[] } {
    for (const bound of ['since', 'before', 'until', 'after'] as const) {
      const rest = without(tokens, bound);
      if (rest.length < tokens.length) return { bound, rest };
    }
    const withoutAgo = without(tokens, 'ago');
    if (this.#words.isAgoBefore && withoutAgo.length < tokens.length && !toAmount(withoutAgo)) {
      return { bound: 'before', rest: withoutAgo };
    }
    // Japanese "from Monday", without an end.
    return this.#words.isUnspaced && isWord(tokens.at(-1), 'and')
      ? { bound: 'since', rest: tokens.slice(0, -1) }
      : { rest: [] };
  }

  #readPeriod(all: readonly Token[]): WallPeriod | undefined {
    const has = (name: DateWord) => all.some((token) => isWord(token, name));
    const rest = without(all, 'part of day', 'night', 'and', 'last', 'before last', 'this', 'ago');
    if (has('ago')) return this.#readAgo(rest);
    if (has('before last')) return this.#readRelative(rest, 2);
    if (!has('last') && !has('this')) return this.#readDate(rest);
    const amount = toAmount(rest);
    if (amount && rest.length === 2) return this.#getUpToNow(amount);
    if (rest.length === 0 && has('night')) return this.#getDay(has('last') ? -1 : 0);
    if (rest.length === 0 && has('part of day')) return this.#getDay(0);
    return this.#readRelative(rest, Number(has('last'))) ?? this.#readDate(rest);
  }

  /** Reads "3 days ago" and, with a day instead of a week or a month, "a week ago today". */
  #readAgo(rest: readonly Token[]): WallPeriod | undefined {
    const tokens = without(rest, 'today');
    const isToday = tokens.length < rest.length;
    const amount = toAmount(tokens);
    if (!amount) return this.#readDate(rest);
    const period = isToday ? this.#getUpToNow(amount) : this.#getAgo(amount);
    return isToday && period ? toDay(period.from) : period;
  }

  /** @param back 0 for "this", 1 for "last", 2 for "before last" */
  #readRelative(rest: readonly Token[], back: number): WallPeriod | undefined {
    const [first, second] = rest;
    const weekday = rest.find((token) => token.kind === 'weekday');
    if (weekday && rest.some((token) => isWord(token, 'week')) && rest.length === 2) {
      const monday = this.#getWeek(-back).from;
      return toDay(monday + ((weekday.weekday + 6) % 7) * DAY_MS);
    }
    if (weekday && rest.length === 1) {
      const latest = this.#getLatestWeekday(weekday.weekday);
      const isOfThisWeek = latest >= this.#getWeek(0).from;
      const weeks = back === 0 || isOfThisWeek ? back : back - 1;
      return toDay(latest - 7 * weeks * DAY_MS);
    }
    if (second || first?.kind !== 'word') return undefined;
    return this.#getUnit(first.word, -back);
  }

  /** Returns a date without words such as "last". */
  #readDate(rest: readonly Token[]): WallPeriod | undefined {
    const weekday = rest.find((token) => token.kind === 'weekday');
    const date = rest.filter((token) => token !== weekday);
    if (date.length === 0) return weekday && toDay(this.#getLatestWeekday(weekday.weekday));
    const [first] = date;
    if (date.length === 1 && first?.kind === 'date') return toDay(first.from);
    if (date.length === 1 && first?.kind === 'word') {
      const days: Partial<Record<DateWord, number>> = { today: 0, yesterday: -1, 'before yesterday': -2 };
      const count = days[first.word];
      return count === undefined ? undefined : this.#getDay(count);
    }
    return this.#readNumbers(date);
  }

  /** Returns a date of a day, a month or quarter, and a year, each of which may be missing. */
  #readNumbers(date: readonly Token[]): WallPeriod | undefined {
    const fields = this.#toFields(date);
    if (!fields) return undefined;
    const { year, month, day, ordinalDay, quarter } = fields;
    const anyDay = ordinalDay ?? day;
    if (quarter !== undefined) return (anyDay ?? month) ? undefined : this.#getMonths(3 * quarter, 3, year);
    // "Call 5" names no day.
    if (anyDay !== undefined) return (month ?? ordinalDay) ? this.#getLatestDay(anyDay, month, year) : undefined;
    if (month !== undefined) return this.#getMonths(month, 1, year);
    return year === undefined ? undefined : { from: Date.UTC(year, 0), until: Date.UTC(year + 1, 0) };
  }

  /** Returns the fields that a date names, months and quarters from 0; undefined if it names one twice, or other words. */
  #toFields(date: readonly Token[]): DateFields | undefined {
    const fields: DateFields = {};
    for (const [at, token] of date.entries()) {
      if (DATE_UNITS.has(toUnit(token))) continue;
      const field = this.#toField(token, toUnit(date[at + 1]), fields);
      if (!field || fields[field.name] !== undefined) return undefined;
      fields[field.name] = field.value;
    }
    return fields;
  }

  #toField(
    token: Token,
    next: DateWord | undefined,
    fields: DateFields,
  ): { name: keyof DateFields; value: number } | undefined {
    if (token.kind === 'month') return { name: 'month', value: token.month };
    if (token.kind !== 'number') return undefined;
    const { value, isOrdinal } = token;
    if (value >= FIRST_YEAR && value <= LAST_YEAR) return { name: 'year', value };
    if (next === 'quarter') return value <= 4 ? { name: 'quarter', value: value - 1 } : undefined;
    const isDay = isOrdinal || (this.#words.isUnspaced === true && next === 'day');
    if (fields.day !== undefined && fields.month !== undefined && value < 100) {
      return { name: 'year', value: 2000 + value };
    }
    return value >= 1 && value <= 31 ? { name: isDay ? 'ordinalDay' : 'day', value } : undefined;
  }

  #getDay(count: number): WallPeriod {
    return toDay(this.#today + count * DAY_MS);
  }

  /** Returns the start of the latest such day up to now, today included. */
  #getLatestWeekday(weekday: number): number {
    return this.#today - ((new Date(this.#today).getUTCDay() - weekday + 7) % 7) * DAY_MS;
  }

  #getWeek(count: number): WallPeriod {
    const monday = this.#getLatestWeekday(1) + count * 7 * DAY_MS;
    return { from: monday, until: monday + 7 * DAY_MS, fringeFrom: monday - DAY_MS };
  }

  #getUnit(unit: DateWord, count: number): WallPeriod | undefined {
    const today = new Date(this.#today);
    const [year, month] = [today.getUTCFullYear(), today.getUTCMonth()];
    switch (unit) {
      case 'day':
        return this.#getDay(count);
      case 'week':
        return this.#getWeek(count);
      case 'weekend': {
        // On a Saturday or Sunday, this weekend has begun, and the last is the one before.
        const saturday = this.#getWeek(count).from + 5 * DAY_MS;
        const from = saturday > this.#today && count === 0 ? saturday - 7 * DAY_MS : saturday;
        return { from, until: from + 2 * DAY_MS };
      }
      case 'month':
        return { from: Date.UTC(year, month + count), until: Date.UTC(year, month + count + 1) };
      case 'quarter': {
        const first = month - (month % 3) + 3 * count;
        return { from: Date.UTC(year, first), until: Date.UTC(year, first + 3) };
      }
      case 'year':
        return { from: Date.UTC(year + count, 0), until: Date.UTC(year + count + 1, 0) };
      default:
        return undefined;
    }
  }

  #getAgo({ count, unit }: Amount): WallPeriod | undefined {
    return this.#getUnit(unit, -count);
  }

  /** Returns the last days, weeks, months or years, up to now. */
  #getUpToNow({ count, unit }: Amount): WallPeriod | undefined {
    const today = new Date(this.#today);
    const [year, month, day] = [today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate()];
    const starts: Partial<Record<DateWord, number>> = {
      day: Date.UTC(year, month, day - count),
      week: Date.UTC(year, month, day - 7 * count),
      month: Date.UTC(year, month - count, day),
      quarter: Date.UTC(year, month - 3 * count, day),
      year: Date.UTC(year - count, month, day),
    };
    const from = starts[unit];
    return from === undefined ? undefined : { from, until: this.#now + 1 };
  }

  /** Returns `count` months from a month on, of the named year, or the latest that have begun. */
  #getMonths(month: number, count: number, named: number | undefined): WallPeriod {
    const thisYear = new Date(this.#today).getUTCFullYear();
    const year = named ?? thisYear - Number(Date.UTC(thisYear, month) > this.#today);
    return { from: Date.UTC(year, month), until: Date.UTC(year, month + count) };
  }

  /** Returns the latest such day up to now, of the month and year if they are named. */
  #getLatestDay(day: number, month: number | undefined, year: number | undefined): WallPeriod | undefined {
    const today = new Date(this.#today);
    // The 29th of February is missing for up to eight years.
    for (let back = 0; back < 12 * 8; back++) {
      const at = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - back, 1));
      const ofMonth = year !== undefined && month !== undefined ? month : at.getUTCMonth();
      const from = Date.UTC(year ?? at.getUTCFullYear(), ofMonth, day);
      const isSuchDay = new Date(from).getUTCDate() === day && (month === undefined || ofMonth === month);
      if (isSuchDay && (from <= this.#today || year !== undefined)) return toDay(from);
    }
    return undefined;
  }
}

function toDay(from: number): WallPeriod {
  return { from, until: from + DAY_MS };
}

interface Amount {
  count: number;
  unit: DateWord;
}

/** Returns an amount such as "3 days"; "a week" is one. Undefined for other words. */
function toAmount(tokens: readonly Token[]): Amount | undefined {
  const unit = toUnit(tokens.at(-1));
  const [count] = tokens;
  if (!unit || tokens.length > 2) return undefined;
  if (tokens.length === 1) return { count: 1, unit };
  return count?.kind === 'number' ? { count: count.value, unit } : undefined;
}

const UNITS: readonly DateWord[] = ['day', 'week', 'weekend', 'month', 'quarter', 'year'];

function toUnit(token: Token | undefined): DateWord | undefined {
  return token?.kind === 'word' && UNITS.includes(token.word) ? token.word : undefined;
}

/** Joins "before" and "last" after a date name into one word: "the week before last", but not "before last week". */
function joinBeforeLast(tokens: readonly Token[]): readonly Token[] {
  const [name, before, last] = tokens.slice(-3);
  const isJoined = isDateName(name) && isWord(before, 'before') && isWord(last, 'last');
  return isJoined ? [...tokens.slice(0, -2), word('before last')] : tokens;
}

function isWord(token: Token | undefined, name: DateWord): boolean {
  return token?.kind === 'word' && token.word === name;
}

function without(tokens: readonly Token[], ...names: DateWord[]): Token[] {
  return tokens.filter((token) => !names.some((name) => isWord(token, name)));
}
