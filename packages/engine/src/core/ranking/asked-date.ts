import type { AskedDate } from '../../ports/ranking.ts';
import { de, en, es, fi, fr, it, ja, nl, type ParsedResult, pt, ru, sv, uk, zh } from './chrono.ts';

type Parser = typeof en.casual;

const PARSERS = Object.entries({ en, de, fr, es, pt, nl, it, sv, fi, ru, uk }).map(([language, { casual }]) => ({
  language,
  parser: casual,
}));

/** The parsers of the languages in which a word is a month. Parsing takes long, and few queries name one. */
let parsersOfMonths: Map<string, Set<Parser>> | undefined;

// To know the names of so many languages takes a good part of a start, so it waits for the first query that may need them.
function readMonths(): Map<string, Set<Parser>> {
  const parsers = new Map<string, Set<Parser>>();
  for (const { language, parser } of PARSERS) {
    for (const month of monthNames(language)) {
      const known = parsers.get(month);
      if (known) known.add(parser);
      else parsers.set(month, new Set([parser]));
    }
  }
  return parsers;
}

/** Full and short, alone and beside a day, which some languages tell apart. */
function monthNames(language: string): string[] {
  const formats: Intl.DateTimeFormatOptions[] = [
    { month: 'long' },
    { month: 'short' },
    { month: 'long', day: 'numeric' },
    { month: 'short', day: 'numeric' },
  ];
  const months = Array.from({ length: 12 }, (_, month) => Date.UTC(2026, month, 15));
  return formats
    .map((format) => new Intl.DateTimeFormat(language, { ...format, timeZone: 'UTC' }))
    .flatMap((format) => months.flatMap((month) => format.formatToParts(month)))
    .filter(({ type }) => type === 'month')
    .flatMap(({ value }) => wordsOf(value));
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/\p{L}+/gu) ?? [];
}

const NUMERIC_DATE = /[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}/;
const EAST_ASIAN_DATE = /[0-9]\s*[年月]/;

/** Those that may find a date in a text. */
function parsersFor(text: string): Set<Parser> {
  const parsers = new Set<Parser>();
  if (NUMERIC_DATE.test(text)) parsers.add(en.casual);
  if (EAST_ASIAN_DATE.test(text)) for (const { casual } of [ja, zh]) parsers.add(casual);
  parsersOfMonths ??= readMonths();
  for (const word of wordsOf(text)) for (const parser of parsersOfMonths.get(word) ?? []) parsers.add(parser);
  return parsers;
}

/** A number that can be a day of a month or a year. */
const DAY_OR_YEAR = /(?<!\p{Nd})(?:[1-3]?[0-9]|(?:1[89]|20|21)[0-9]{2})(?!\p{Nd})/u;

/** Longest part of a query that is searched for dates, in UTF-16 units. */
const SEARCHED = 512;

/** The date that a query names, if it names just one; "last week" and the like are none. */
export function askedDate(query: string): AskedDate | undefined {
  const searched = query.slice(0, SEARCHED);
  if (!DAY_OR_YEAR.test(searched)) return undefined;
  for (const parser of parsersFor(searched)) {
    const dates = parser.parse(searched).flatMap((result) => absoluteDate(result) ?? []);
    if (dates.length > 0) return dates.length === 1 ? dates[0] : undefined;
  }
  return undefined;
}

function absoluteDate({ start, text }: ParsedResult): AskedDate | undefined {
  const names = (component: 'year' | 'month' | 'day') => (start.isCertain(component) ? (start.get(component) ?? 0) : 0);
  const [year, month, day] = [names('year'), names('month'), names('day')];
  const isRelative = start.tags().has('result/relativeDate') || !DAY_OR_YEAR.test(text);
  if (isRelative || month === 0 || (year === 0 && day === 0)) return undefined;
  return { month, ...(year > 0 && { year }), ...(day > 0 && { day }) };
}
