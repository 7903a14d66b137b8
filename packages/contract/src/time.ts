/**
 * Pattern of a time in a request: an ISO 8601 date, or a date and a time of day with an offset from UTC. Seconds are
 * optional. A fraction may follow `.` or `,`. A space may replace `T` or precede the offset.
 */
export const TIME_PATTERN =
  '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])([Tt ]([01]\\d|2[0-3]):[0-5]\\d(:([0-5]\\d|60)([.,]\\d+)?)? ?([Zz]|[+-]([01]\\d|2[0-3])(:?[0-5]\\d)?))?$';

/** Rule for a time in a request; completes "<field> must …". */
export const TIME_MUST =
  'be an ISO 8601 date, or a date and time with a UTC offset, in the years 0000 to 9999, such as 2026-01-31T09:30:00Z or 2026-01-31T10:30+01:00';

const FORM = new RegExp(TIME_PATTERN, 'u');
const PARTS = /^(\d{4}-\d\d-(\d\d))(?:[T ](\d\d:\d\d)(?::(\d\d)(?:[.,](\d+))?)? ?(Z|[+-]\d\d(?::?\d\d)?))?$/i;

/** First instant whose UTC year has four digits. */
export const MIN_TIME_MS = Date.parse('0000-01-01T00:00:00Z');
/** Last instant whose UTC year has four digits. */
export const MAX_TIME_MS = Date.parse('9999-12-31T23:59:59.999Z');

const DAY_MS = 86_400_000;

/**
 * Parses a time in a request. Fractions of a millisecond are truncated. A leap second is allowed only in the last
 * minute of a UTC day, and becomes the last millisecond of that minute.
 *
 * @param edge instant to return for a date without a time: the first or the last millisecond of that day in UTC
 * @returns milliseconds since 1970; undefined if the text does not match `TIME_PATTERN`, the day does not exist, or the
 *   UTC year is outside 0000 to 9999
 */
export function parseTime(text: string, edge: 'first' | 'last' = 'first'): number | undefined {
  if (!FORM.test(text)) return undefined;
  const [, date = '', day = '', minute, second = '00', fraction = '', offset = 'Z'] = PARTS.exec(text) ?? [];
  const midnight = Date.parse(`${date}T00:00:00Z`);
  // `Date.parse` reads 31 February as a day in March.
  if (new Date(midnight).getUTCDate() !== Number(day)) return undefined;
  if (minute === undefined) return edge === 'first' ? midnight : midnight + DAY_MS - 1;
  const start = Date.parse(`${date}T${minute}:00${toParsableOffset(offset)}`);
  const isLeap = second === '60';
  if (isLeap && (start + 60_000) % DAY_MS !== 0) return undefined;
  const ms = isLeap ? start + 59_999 : start + Number(second) * 1000 + Number(fraction.padEnd(3, '0').slice(0, 3));
  return ms >= MIN_TIME_MS && ms <= MAX_TIME_MS ? ms : undefined;
}

function toParsableOffset(offset: string): string {
  if (offset.length === 1) return 'Z';
  const digits = offset.slice(1).replace(':', '').padEnd(4, '0');
  return `${offset[0]}${digits.slice(0, 2)}:${digits.slice(2)}`;
}

const TIME_BEFORE_BARE_OFFSET = /^(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?) (\d\d(?::?\d\d)?)$/;

/** Restores the `+` of a UTC offset in a query parameter, where an unescaped `+` is decoded as a space. */
export function restorePlus(text: string): string {
  return text.replace(TIME_BEFORE_BARE_OFFSET, '$1+$2');
}
