import type { AskedDate, QueryIntent } from '../../ports/ranking.ts';
import {
  aroundDateWord,
  type DateLanguage,
  dateLanguagesOf,
  dateParserOf,
  namesWeeks,
  type ParsedComponents,
  type ParsedResult,
  wordsOf,
} from './date-words.ts';

// In English alone. Auxiliaries, and the verbs of telling:
const PAST = /\b(?:did|was|were|have|has|had|been|said|told|mentioned|discussed|talked|brought)\b|['’](?:ve|d)\b/i;

const ADVICE = /\b(?:suggest|recommend|advi[cs]e|should|would you)\b/i;

/** What ranking knows of a query that is asked `now`. */
export async function queryIntentOf(query: string, now: number): Promise<QueryIntent> {
  return { date: await askedDate(query, now), looksBack: PAST.test(query), asksAdvice: ADVICE.test(query) };
}

/** Longest part of a query that is searched for dates, in UTF-16 units. */
const SEARCHED = 512;

/**
 * The date that a query asks about as of `now`, if it names just one and that has begun. What counts from now, as "last
 * week" does, is one where no other is named; of what comes every year, the last one is meant.
 */
export async function askedDate(query: string, now: number): Promise<AskedDate | undefined> {
  const searched = readable(query.slice(0, SEARCHED));
  for (const language of dateLanguagesOf(searched)) {
    const parser = await dateParserOf(language);
    const read = SLOWLY_READ.has(language) ? aroundDateWord(searched, language) : searched;
    const named = parser.parse(read, { instant: new Date(now), timezone: 0 }).filter((result) => isDate(result, read));
    const absolute = named.filter((result) => !countsFromNow(result));
    const [first, second] = absolute.length > 0 ? absolute : named;
    if (first) return second ? undefined : dateOf(first, read, now);
  }
  return yearAlone(searched, now) ?? lately(searched, now);
}

/** Where the parser takes time by a high power of how many names of times stand beside each other. */
const SLOWLY_READ: ReadonlySet<DateLanguage> = new Set(['ru', 'uk']);

/** The same with single blanks, since the parser tries each of several, and English forms in place of those that it misreads. */
function readable(query: string): string {
  return query
    .replace(/\s+/g, ' ')
    .replace(BETWEEN, '$1 to ')
    .replace(PART_OF_DAY, 'on ')
    .replace(BEFORE_MAY, '$1 in ');
}

const BETWEEN = /\bbetween\s{1,8}(.{1,40}?)\s{1,8}and\s{1,8}/i;
const PART_OF_DAY = /\b(?:morning|afternoon|evening|night)\s+of\s+/gi;

/** The parser knows this month by an "in" before it, since it is no longer than the short names of others. */
const BEFORE_MAY = /(?<![0-9](?:st|nd|rd|th)?\s+)\b(last|past|this|since|after|until|during|of)\s+(?=may\b)/gi;

/** A number that can be a day of a month or a year. */
const DAY_OR_YEAR = /(?<!\p{Nd})(?:[1-3]?[0-9]|(?:1[89]|20|21)[0-9]{2})(?!\p{Nd})/u;

/** What stands before the name of a month in English, where it is neither a verb nor somebody's name. */
const BEFORE_MONTH = /\b(?:in|of|since|after|during|to|last|this|past|early|late|mid)[\s-]+$/i;

/** Nobody can tell whether the month comes first. */
const AMBIGUOUS = /^(?:0?[1-9]|1[0-2])[/-](?:0?[1-9]|1[0-2])[/-][0-9]{2,4}$/;

// Some months are verbs and names, an hour is of any day, and what a shop does "on Sunday" it does every week.
function isDate({ start, text, index }: ParsedResult, query: string): boolean {
  const isOfAnyDay = start.isCertain('hour') && !start.isCertain('day') && !start.isCertain('weekday');
  if (isOfAnyDay || start.tags().has('casualReference/now')) return false;
  if (AMBIGUOUS.test(text) || /\bquarter/i.test(text)) return false;
  if (start.isCertain('year')) return true;
  if (DAY_OR_YEAR.test(text)) return start.isCertain('month') || start.isCertain('day');
  if (start.isCertain('month')) return BEFORE_MONTH.test(query.slice(0, index));
  return wordsOf(text).length > 1 && !/^on\b/i.test(text);
}

const FROM_NOW = ['result/relativeDate', 'casualReference/today', 'casualReference/yesterday'];

function countsFromNow({ start }: ParsedResult): boolean {
  return !start.isCertain('month') || FROM_NOW.some((tag) => start.tags().has(tag));
}

const DAY_MS = 86_400_000;

/** How much earlier, and later, a day begins elsewhere on Earth than in UTC. */
const ZONES_AHEAD_MS = 14 * 3_600_000;
const ZONES_BEHIND_MS = 12 * 3_600_000;

function dateOf({ start, end, text, index }: ParsedResult, query: string, now: number): AskedDate | undefined {
  const before = query.slice(0, index);
  const span = spanOf(text, before);
  const from = startOf(start, span);
  const until = endOf(end ?? start, span);
  const back = from > now ? toLastOne(start) : unchanged;
  const [, word = ''] = BEFORE_DATE.exec(before) ?? [];
  switch (word.toLowerCase()) {
    case 'before':
    case 'until':
      return undefined;
    case 'after':
      return lived(back(until), now, text, now);
    case 'since':
      return lived(back(from), now, text, now);
    default:
      return lived(back(from), UP_TO_NOW.test(text) ? now : back(until), text, now);
  }
}

const BEFORE_DATE = /\b(before|until|after|since)\s+(?:in\s+)?$/i;

/** "last 3 days", "past few weeks" */
const UP_TO_NOW = /^(?:last|past)\s+(?:[0-9]+|\p{L}+)\s+\p{L}+s$/iu;

/** Not the first of two. */
const YEAR_ALONE =
  /\b(in|of|since|during)\s+((?:19|20)[0-9]{2})\b(?![-/.:][0-9]|\s*(?:to|and|or|until|till|through|[-–—])\s*(?:19|20)[0-9]{2}\b)/i;

function yearAlone(query: string, now: number): AskedDate | undefined {
  const [text, word, year] = YEAR_ALONE.exec(query) ?? [];
  if (text === undefined) return undefined;
  const until = word?.toLowerCase() === 'since' ? now : Date.UTC(Number(year) + 1, 0);
  return lived(Date.UTC(Number(year), 0), until, text, now);
}

const LATELY = /\b(?:recently|lately)\b/i;
const LATELY_MS = 14 * DAY_MS;

function lately(query: string, now: number): AskedDate | undefined {
  const [text] = LATELY.exec(query) ?? [];
  return text === undefined ? undefined : lived(now - LATELY_MS, now, text, now);
}

/** From when it begins anywhere on Earth until it is over everywhere; none that has yet to begin. */
function lived(from: number, until: number, text: string, now: number): AskedDate | undefined {
  const date = { from: from - ZONES_AHEAD_MS, until: until + ZONES_BEHIND_MS, text };
  return date.from > now ? undefined : date;
}

/** What a date is that chrono tells by one of its days. */
type Span = 'week' | 'weekend' | undefined;

const WEEK_OF = /\bweek\s+of\s+$/i;

function spanOf(text: string, before: string): Span {
  if (/\bweekend/i.test(text)) return 'weekend';
  return namesWeeks(text) || WEEK_OF.test(before) ? 'week' : undefined;
}

/** Weeks begin on Sunday or on Monday, so one is taken from the first to the last of these. */
const SPAN_DAYS = { week: 8, weekend: 2 } as const;

function startOf(components: ParsedComponents, span: Span): number {
  const { year, month, day } = fieldsOf(components);
  const weekday = new Date(Date.UTC(year, month, day)).getUTCDay();
  if (span === 'week') return Date.UTC(year, month, day - weekday);
  if (span === 'weekend') return Date.UTC(year, month, day - Number(weekday === SUNDAY));
  const unit = unitOf(components);
  return Date.UTC(year, unit === 'year' ? 0 : month, unit === 'day' ? day : 1);
}

const SUNDAY = 0;

function endOf(components: ParsedComponents, span: Span): number {
  const start = new Date(startOf(components, span));
  const [year, month, day] = [start.getUTCFullYear(), start.getUTCMonth(), start.getUTCDate()];
  if (span) return Date.UTC(year, month, day + SPAN_DAYS[span]);
  const unit = unitOf(components);
  return Date.UTC(year + Number(unit === 'year'), month + Number(unit === 'month'), day + Number(unit === 'day'));
}

/** Months count from 0. */
function fieldsOf(components: ParsedComponents): { year: number; month: number; day: number } {
  const field = (name: 'year' | 'month' | 'day') => components.get(name) as number;
  return { year: field('year'), month: field('month') - 1, day: field('day') };
}

/** The shortest that is named; what names none of them, as "this morning" does, is of a day. */
function unitOf(components: ParsedComponents): 'day' | 'month' | 'year' {
  if (components.isCertain('day') || components.isCertain('weekday')) return 'day';
  if (components.isCertain('month')) return 'month';
  return components.isCertain('year') ? 'year' : 'day';
}

const unchanged = (time: number) => time;

/** To the last time that what comes every year, or every week, was there. */
function toLastOne(start: ParsedComponents): (time: number) => number {
  if (start.isCertain('year')) return unchanged;
  if (start.isCertain('month')) return (time) => new Date(time).setUTCFullYear(new Date(time).getUTCFullYear() - 1);
  return start.isCertain('weekday') ? (time) => time - 7 * DAY_MS : unchanged;
}
