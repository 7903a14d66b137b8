import { tzOffset } from '@date-fns/tz/tzOffset';
import { asksAboutUser } from '../text/about-user.ts';
import { asksForNow } from '../text/change-words.ts';
import { readDateQuestion } from './date-question.ts';
import {
  aroundDateWord,
  type DateLanguage,
  findRelativeTime,
  getDateLanguages,
  getWords,
  loadDateParser,
  namesWeeks,
  type ParsedComponents,
  type ParsedResult,
} from './date-words.ts';
import type { QueryIntent, QueryPeriod } from './ranking.ts';

// English only: auxiliaries of the past, and verbs of saying.
const PAST = /\b(?:did|was|were|have|has|had|been|said|told|mentioned|discussed|talked|brought)\b|['’](?:ve|d)\b/i;

const ADVICE = /\b(?:suggest|recommend|advi[cs]e|should|would you)\b/i;

/** Time and time zone of a query. */
export interface QueryContext {
  /** In milliseconds since 1970. */
  now: number;
  /** See `findTimeZone`. */
  zone: string;
}

/**
 * Reads from a query the date that it asks about, whether it asks about the past or the present, and whether it asks for
 * advice.
 */
export async function readQueryIntent(query: string, asked: QueryContext): Promise<QueryIntent> {
  return {
    date: await askedDate(query, asked),
    looksBack: PAST.test(query),
    asksAdvice: ADVICE.test(query),
    asksForNow: asksForNow(query),
    // The expression takes a time that grows with the square of the length.
    asksAboutUser: asksAboutUser(query.slice(0, MAX_SEARCHED_CHARS)),
  };
}

/** Maximum part of a query that is searched for dates and for a question about the user, in UTF-16 units. */
const MAX_SEARCHED_CHARS = 512;

/** A time that a query names, in wall-clock time of the query's zone. `until` is exclusive. */
interface NamedTime {
  from: number;
  until: number;
  /** The part of the query that names the time, and its index. */
  text: string;
  index: number;
}

/**
 * Returns the date that a query asks about; undefined if the query names no date, several dates, or a future date. A
 * date relative to now, such as "last week", is used only if the query names no other date. A date without a year means
 * its last occurrence. See `readDateQuestion` for a query that consists of a date.
 */
export async function askedDate(query: string, { now, zone }: QueryContext): Promise<QueryPeriod | undefined> {
  const searched = normalizeForParser(query.slice(0, MAX_SEARCHED_CHARS));
  const wallNow = toWallClock(zone, now);
  const question = readDateQuestion(query, wallNow);
  if (question) {
    const { from, until, fringeFrom = from } = question;
    const period = toPeriod({ from, until }, query, zone);
    const earliest = fromWallClock(zone, fringeFrom) - ZONES_AHEAD_MS;
    return from > wallNow ? undefined : { ...period, earliest, isWholeQuery: true };
  }
  const named = (await findNamedTime(searched, now, zone)) ?? findRecently(searched, wallNow);
  if (!named) return undefined;
  const { from, until } = withPreposition(named, searched, wallNow);
  return from - ZONES_AHEAD_MS > wallNow ? undefined : toPeriod({ from, until }, named.text, zone);
}

function toPeriod({ from, until }: { from: number; until: number }, text: string, zone: string): QueryPeriod {
  const [start, end] = [fromWallClock(zone, from), fromWallClock(zone, until)];
  return { from: start, until: end, earliest: start - ZONES_AHEAD_MS, latest: end + ZONES_BEHIND_MS, text };
}

async function findNamedTime(query: string, now: number, zone: string): Promise<NamedTime | undefined> {
  const wallNow = toWallClock(zone, now);
  const parts = [...findQuarters(query, wallNow), ...findSeasons(query, wallNow), ...findDaysOfMonth(query, wallNow)];
  if (parts.length > 0) return parts.length === 1 ? parts[0] : undefined;
  for (const language of getDateLanguages(query)) {
    const parser = await loadDateParser(language);
    const read = SLOW_LANGUAGES.has(language) ? aroundDateWord(query, language) : query;
    const reference = { instant: new Date(now), timezone: getOffsetMinutes(zone, now) };
    const found = parser.parse(read, reference).filter((result) => isDate(result, read));
    const absolute = found.filter((result) => !countsFromNow(result));
    const [first, second] = absolute.length > 0 ? absolute : found;
    if (first) return second ? undefined : toNamedTime(first, query, wallNow);
  }
  return findYear(query) ?? findRelative(query, wallNow);
}

/** Languages whose parser takes polynomial time of a high degree in the number of adjacent date words. */
const SLOW_LANGUAGES: ReadonlySet<DateLanguage> = new Set(['ru', 'uk']);

/**
 * Normalizes a query for the date parser: reduces blanks to single ones, since the parser is slow on repeated blanks,
 * and replaces English forms that the parser misreads.
 */
function normalizeForParser(query: string): string {
  return query
    .replace(/\s+/g, ' ')
    .replace(BETWEEN, '$1 to ')
    .replace(PART_OF_DAY, 'on ')
    .replace(BEFORE_MAY, '$1 in ');
}

const BETWEEN = /\bbetween\s{1,8}(.{1,40}?)\s{1,8}and\s{1,8}/i;
const PART_OF_DAY = /\b(?:morning|afternoon|evening|night)\s+of\s+/gi;

/**
 * Matches a word before "may" that shows that May is meant; `normalizeForParser` adds "in" after this word. The parser
 * itself recognizes "may" as a month only after "in", since the name is as short as the abbreviations of other months.
 */
const BEFORE_MAY = /(?<![0-9](?:st|nd|rd|th)?\s+)\b(last|past|this|since|after|until|during|of)\s+(?=may\b)/gi;

/** A number that can be a day of a month or a year. */
const DAY_OR_YEAR = /(?<!\p{Nd})(?:[1-3]?[0-9]|(?:1[89]|20|21)[0-9]{2})(?!\p{Nd})/u;

/**
 * Matches an English word before the name of a month. After such a word, the name is neither a verb nor a person's
 * name.
 */
const BEFORE_MONTH = /\b(?:in|of|since|after|during|to|last|this|past|early|late|mid)[\s-]+$/i;

/** Numeric dates in which either number can be the month. */
const AMBIGUOUS = /^(?:0?[1-9]|1[0-2])[/-](?:0?[1-9]|1[0-2])[/-][0-9]{2,4}$/;

// Returns false for text that is probably no date, such as a verb or name that is spelled like a month, an hour without
// a day, or a weekday that means every week ("open on Sunday").
function isDate({ start, text, index }: ParsedResult, query: string): boolean {
  const isHourOnly = start.isCertain('hour') && !start.isCertain('day') && !start.isCertain('weekday');
  if (isHourOnly || start.tags().has('casualReference/now')) return false;
  if (AMBIGUOUS.test(text) || /\bquarter/i.test(text)) return false;
  if (start.isCertain('year')) return true;
  if (DAY_OR_YEAR.test(text)) return start.isCertain('month') || start.isCertain('day');
  if (start.isCertain('month')) return BEFORE_MONTH.test(query.slice(0, index));
  const isBareWeekday = start.isCertain('weekday') && (getWords(text).length === 1 || /^on\b/i.test(text));
  return isBareWeekday ? meansLastWeekday(text, query.slice(0, index), query) : getWords(text).length > 1;
}

/** Verbs in the past. English only. */
const HAPPENED =
  /\b(?:\w{2,}ed|went|saw|met|ate|got|came|made|took|bought|gave|wrote|found|left|ran|sent|lost|paid|built|broke|told|said|did|was|were)\b/i;

/** Words that show that a sentence is about a habit. English only. */
const HABITUAL = /\b(?:is|are|does|can|will|every|each|always|usually|do\s+(?:I|you|we|they))\b/i;

// "On Sunday" means last Sunday if the query asks about a past event ("What did I buy on Sunday?"), and any Sunday if
// the query asks about a habit ("Is the shop open on Sunday?").
function meansLastWeekday(text: string, before: string, query: string): boolean {
  if (BEFORE_DATE.test(before)) return true;
  return /^on\b/i.test(text) && HAPPENED.test(query) && !HABITUAL.test(query);
}

const FROM_NOW = ['result/relativeDate', 'casualReference/today', 'casualReference/yesterday'];

function countsFromNow({ start }: ParsedResult): boolean {
  return !start.isCertain('month') || FROM_NOW.some((tag) => start.tags().has(tag));
}

const DAY_MS = 86_400_000;

/** Maximum time by which a day begins earlier in any time zone than in UTC. */
const ZONES_AHEAD_MS = 14 * 3_600_000;

/** Maximum time by which a day begins later in any time zone than in UTC. */
const ZONES_BEHIND_MS = 12 * 3_600_000;

function toNamedTime({ start, end, text, index }: ParsedResult, query: string, now: number): NamedTime {
  // If the parser has read only the part from `aroundDateWord`, `index` is relative to this part.
  const at = Math.max(index, query.indexOf(text));
  const span = getSpan(text, query.slice(0, at));
  const from = getStart(start, span);
  const back = from > now ? getShiftToPrevious(start) : unchanged;
  const until = UP_TO_NOW.test(text) ? now : back(getEnd(end ?? start, span));
  return { from: back(from), until, text, index: at };
}

/** The earliest creation time of a memory. */
const FIRST_MS = Date.parse('0000-01-01T00:00:00Z');

/** Returns the time that a named time and its preposition mean. "Until" a day includes the day. */
function withPreposition(
  { from, until, index }: NamedTime,
  query: string,
  now: number,
): { from: number; until: number } {
  const [, word = ''] = BEFORE_DATE.exec(query.slice(0, index)) ?? [];
  switch (word.toLowerCase()) {
    case 'before':
      return { from: FIRST_MS, until: from };
    case 'until':
    case 'till':
      return { from: FIRST_MS, until };
    case 'after':
      return { from: until, until: now + 1 };
    case 'since':
      return { from, until: now + 1 };
    default:
      return { from, until };
  }
}

const BEFORE_DATE = /\b(before|until|till|after|since)\s+(?:(?:in|on|the)\s+)*$/i;

/** Matches periods that end now: "last 3 days", "past few weeks". */
const UP_TO_NOW = /^(?:last|past)\s+(?:[0-9]+|\p{L}+)\s+\p{L}+s$/iu;

/** Matches a year after a preposition, except the first year of a range or of two alternatives. */
const YEAR_ALONE =
  /\b(?:in|of|since|during|before|after|until)\s+((?:19|20)[0-9]{2})\b(?![-/.:][0-9]|\s*(?:to|and|or|until|till|through|[-–—])\s*(?:19|20)[0-9]{2}\b)/i;

function findYear(query: string): NamedTime | undefined {
  const match = YEAR_ALONE.exec(query);
  if (!match) return undefined;
  const [text, year = ''] = match;
  const [from, until] = [Date.UTC(Number(year), 0), Date.UTC(Number(year) + 1, 0)];
  return { from, until, text: year, index: match.index + text.length - year.length };
}

const LATELY = /\b(?:recently|lately)\b/i;
const LATELY_MS = 14 * DAY_MS;

function findRecently(query: string, now: number): NamedTime | undefined {
  const match = LATELY.exec(query);
  return match ? { from: now - LATELY_MS, until: now + 1, text: match[0], index: match.index } : undefined;
}

function findRelative(query: string, now: number): NamedTime | undefined {
  const found = findRelativeTime(query);
  if (!found) return undefined;
  const { unit, count, text, index } = found;
  const today = Math.floor(now / DAY_MS) * DAY_MS;
  if (unit === 'day') return { from: today + count * DAY_MS, until: today + (count + 1) * DAY_MS, text, index };
  const from = today - new Date(now).getUTCDay() * DAY_MS + count * 7 * DAY_MS;
  return { from, until: from + SPAN_DAYS.week * DAY_MS, text, index };
}

const YEAR = '((?:19|20)[0-9]{2})';
const ORDINALS = ['first', 'second', 'third', 'fourth'];

/**
 * Matches "Q4 2026", "the third quarter of 2026", "last quarter". Without a year, the query means the last such quarter
 * that has begun.
 */
const QUARTER = new RegExp(
  `\\b(?:Q([1-4])|(${ORDINALS.join('|')}|[1-4](?:st|nd|rd|th)|last|this) quarter)(?:(?:,|\\s+of)?[\\s/-]${YEAR})?\\b(?!\\s+of\\b)`,
  'gi',
);

function* findQuarters(query: string, now: number): Iterable<NamedTime> {
  for (const { 0: text, 1: number, 2: named = '', 3: year, index } of query.matchAll(QUARTER)) {
    const present = Math.floor(new Date(now).getUTCMonth() / 3);
    const ordinal = ORDINALS.indexOf(named.toLowerCase());
    const fromName = number === undefined && ordinal < 0 ? Number.parseInt(named, 10) - 1 : ordinal;
    const quarter = number === undefined ? fromName : Number(number) - 1;
    const thisYear = new Date(now).getUTCFullYear();
    if (/^(?:last|this)$/i.test(named)) {
      const month = 3 * (present - Number(/^last$/i.test(named)));
      yield { from: Date.UTC(thisYear, month), until: Date.UTC(thisYear, month + 3), text, index };
    } else {
      const of = year === undefined ? thisYear - Number(quarter > present) : Number(year);
      yield { from: Date.UTC(of, 3 * quarter), until: Date.UTC(of, 3 * quarter + 3), text, index };
    }
  }
}

/**
 * The first month of each meteorological season of the northern hemisphere, from 0 for January. Winter begins at -1, in
 * December of the year before.
 */
const SEASONS = new Map([
  ['winter', -1],
  ['spring', 2],
  ['summer', 5],
  ['autumn', 8],
  ['fall', 8],
]);
const SEASON = new RegExp(
  `\\b(?:in|of|since|before|after|until|during|last|this|past|early|late)\\s+(?:the\\s+)?(${[...SEASONS.keys()].join('|')})(?:\\s+(?:of\\s+)?${YEAR})?\\b`,
  'gi',
);

/**
 * Finds seasons such as "in spring 2026" or "last summer". Without a year, returns the last such season that has begun
 * or, after "last", has ended.
 */
function* findSeasons(query: string, now: number): Iterable<NamedTime> {
  for (const { 0: whole, 1: name = '', 2: year, index } of query.matchAll(SEASON)) {
    const month = SEASONS.get(name.toLowerCase()) as number;
    const isOver = /^last/i.test(whole);
    // A winter spans two years, and may be named by either.
    const latest = year === undefined ? new Date(now).getUTCFullYear() + 1 : Number(year) + Number(month < 0);
    const earliest = year === undefined ? latest - 2 : Number(year);
    for (let of = latest; of >= earliest; of--) {
      const [from, until] = [Date.UTC(of, month), Date.UTC(of, month + 3)];
      if ((isOver ? until : from) > now) continue;
      const at = whole.toLowerCase().indexOf(name.toLowerCase());
      yield { from, until, text: whole.slice(at), index: index + at };
      break;
    }
  }
}

/**
 * Matches "on the 23rd" at the end of a clause or before a word, such as a verb or preposition, that shows that neither
 * a month nor another noun follows.
 */
const DAY_OF_MONTH =
  /\b(?:on|since|before|after|until|by|of)\s+the\s+([1-9]|[12][0-9]|3[01])(?:st|nd|rd|th)\b(?=\s*(?:$|[?.!,;)]|(?:did|was|were|had|at|with|by|for|to|and|or|we|i|you|he|she|they)\b))/gi;

function* findDaysOfMonth(query: string, now: number): Iterable<NamedTime> {
  for (const { 0: whole, 1: number = '', index } of query.matchAll(DAY_OF_MONTH)) {
    const today = new Date(now);
    // Skips months without such a day.
    for (let back = 0; back < 12; back++) {
      const from = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - back, Number(number));
      if (from > now || new Date(from).getUTCDate() !== Number(number)) continue;
      const at = whole.search(/[0-9]/);
      yield { from, until: from + DAY_MS, text: whole.slice(at), index: index + at };
      break;
    }
  }
}

/** A period that chrono represents by one of its days. */
type Span = 'week' | 'weekend' | undefined;

const WEEK_OF = /\bweek\s+of\s+$/i;

function getSpan(text: string, before: string): Span {
  if (/\bweekend/i.test(text)) return 'weekend';
  return namesWeeks(text) || WEEK_OF.test(before) ? 'week' : undefined;
}

/** Length in days. A week has 8 days, since it may begin on Sunday or on Monday. */
const SPAN_DAYS = { week: 8, weekend: 2 } as const;

function getStart(components: ParsedComponents, span: Span): number {
  const { year, month, day } = getFields(components);
  const weekday = new Date(Date.UTC(year, month, day)).getUTCDay();
  if (span === 'week') return Date.UTC(year, month, day - weekday);
  if (span === 'weekend') return Date.UTC(year, month, day - Number(weekday === SUNDAY));
  const unit = getUnit(components);
  return Date.UTC(year, unit === 'year' ? 0 : month, unit === 'day' ? day : 1);
}

const SUNDAY = 0;

function getEnd(components: ParsedComponents, span: Span): number {
  const start = new Date(getStart(components, span));
  const [year, month, day] = [start.getUTCFullYear(), start.getUTCMonth(), start.getUTCDate()];
  if (span) return Date.UTC(year, month, day + SPAN_DAYS[span]);
  const unit = getUnit(components);
  return Date.UTC(year + Number(unit === 'year'), month + Number(unit === 'month'), day + Number(unit === 'day'));
}

/** Returns the fields of a date; months count from 0. */
function getFields(components: ParsedComponents): { year: number; month: number; day: number } {
  const field = (name: 'year' | 'month' | 'day') => components.get(name) as number;
  return { year: field('year'), month: field('month') - 1, day: field('day') };
}

/** Returns the smallest unit that a date names; a day if the date names no unit, as in "this morning". */
function getUnit(components: ParsedComponents): 'day' | 'month' | 'year' {
  if (components.isCertain('day') || components.isCertain('weekday')) return 'day';
  if (components.isCertain('month')) return 'month';
  return components.isCertain('year') ? 'year' : 'day';
}

const unchanged = (time: number) => time;

/** Returns a function that moves a yearly or weekly time back to its previous occurrence. */
function getShiftToPrevious(start: ParsedComponents): (time: number) => number {
  if (start.isCertain('year')) return unchanged;
  if (start.isCertain('month')) return (time) => new Date(time).setUTCFullYear(new Date(time).getUTCFullYear() - 1);
  return start.isCertain('weekday') ? (time) => time - 7 * DAY_MS : unchanged;
}

/** Returns the offset of a known zone from UTC, in minutes, at a time in milliseconds since 1970. */
function getOffsetMinutes(zone: string, time: number): number {
  return zone === 'UTC' ? 0 : tzOffset(zone, new Date(time));
}

const MINUTE_MS = 60_000;

/** Converts a time to the wall-clock time of a zone, represented as the time at which a UTC clock shows the same. */
function toWallClock(zone: string, time: number): number {
  return time + getOffsetMinutes(zone, time) * MINUTE_MS;
}

/**
 * Converts a wall-clock time of a zone, as returned by `toWallClock`, to a time. If clocks show `wall` twice, because
 * they are set back, returns one of the two times. If clocks skip `wall`, returns a nearby time.
 */
function fromWallClock(zone: string, wall: number): number {
  const near = wall - getOffsetMinutes(zone, wall) * MINUTE_MS;
  return wall - getOffsetMinutes(zone, near) * MINUTE_MS;
}
