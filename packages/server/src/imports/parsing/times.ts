import { MAX_TIME_MS, MIN_TIME_MS, parseTime } from '@memoryd/contract';

/** Numbers from here on are milliseconds since 1970, others seconds: 1e11 s is in the year 5138, 1e11 ms in 1973. */
const MIN_MS = 1e11;

const DATE = /^\d{4}-\d\d-\d\d$/;
const WITHOUT_ZONE = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?$/i;

/**
 * Returns a time of another program as the service takes it; undefined if the value is not a time. Numbers are seconds or
 * milliseconds since 1970. Texts are ISO 8601, or numbers. A date is the beginning of its day.
 *
 * @param timeZone the zone of a date, and of a time without one, as an IANA name; UTC if absent
 */
export function toImportedTime(value: unknown, timeZone = 'UTC'): string | undefined {
  if (typeof value === 'number') return toTimestamp(Math.abs(value) >= MIN_MS ? value : value * 1000);
  if (typeof value !== 'string') return undefined;
  // Databases and Ruby write `2026-01-31 10:00:00 UTC`.
  const text = value.trim().replace(/ UTC$/, 'Z');
  if (/^-?\d+(?:\.\d+)?$/.test(text) && text.replace('-', '').length > 8) return toImportedTime(Number(text));
  if (DATE.test(text)) return toZonedTime(`${text}T00:00`, timeZone);
  const ms = parseTime(text);
  if (ms !== undefined) return toTimestamp(ms);
  return WITHOUT_ZONE.test(text) ? toZonedTime(text, timeZone) : undefined;
}

/** Returns a time in ms since 1970 as the service takes it; undefined outside the years 0000 to 9999. */
export function toTimestamp(ms: number): string | undefined {
  if (!(ms >= MIN_TIME_MS && ms <= MAX_TIME_MS)) return undefined;
  return new Date(ms).toISOString();
}

/** Returns the instant of a local time. The offset is that of the time itself, and then of the instant it leads to. */
function toZonedTime(text: string, timeZone: string): string | undefined {
  const local = parseTime(`${text}Z`);
  if (local === undefined) return undefined;
  const first = local - getOffsetMs(local, timeZone);
  return toTimestamp(local - getOffsetMs(first, timeZone));
}

/** The last formatter, because its creation takes longer than its use. An import has one time zone. */
let zoned: { timeZone: string; formatter: Intl.DateTimeFormat } | undefined;

function getOffsetMs(ms: number, timeZone: string): number {
  if (zoned?.timeZone !== timeZone) {
    zoned = { timeZone, formatter: new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' }) };
  }
  const name = zoned.formatter.formatToParts(ms).find(({ type }) => type === 'timeZoneName')?.value;
  const [, sign, hours = '0', minutes = '0'] = /^GMT([+-])(\d\d):?(\d\d)?/.exec(name ?? '') ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}
