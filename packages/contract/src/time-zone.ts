/** Rule for a time zone; completes "timezone must …". */
export const TIME_ZONE_MUST = 'be an IANA time zone name, such as Europe/Berlin or UTC';

const MINUTE_MS = 60_000;

/** Maximum formats in the cache. Names are case-insensitive, and clients may send any number of variants. */
const MAX_FORMATS = 100;

/** Formats by zone name, the oldest first, because creating a format is slow. */
const formats = new Map<string, Intl.DateTimeFormat>();

/** Returns the canonical name of a time zone (IANA, or an offset such as `+05:30`); undefined for any other text. */
export function getCanonicalTimeZone(name: string): string | undefined {
  try {
    return getFormat(name).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

/** Returns the name of the time zone of the process; its current offset, such as `-08:00`, if the zone has no name. */
export function getProcessTimeZone(): string {
  // ICU knows no name for `TZ=:/etc/localtime`, and `Intl` refuses its name `Etc/Unknown`.
  const name = getCanonicalTimeZone(new Intl.DateTimeFormat().resolvedOptions().timeZone);
  if (name !== undefined) return name;
  const minutes = -new Date().getTimezoneOffset();
  return minutes === 0 ? 'UTC' : formatOffset(minutes);
}

/** A time zone in which times are shown. */
export interface TimeZone {
  /** The name as given, such as `America/Los_Angeles`. */
  readonly name: string;
  /**
   * Returns the same instant in ISO 8601 with the offset of the zone, such as `2026-11-27T20:30:00.000-08:00`. Returns
   * the text unchanged in UTC, if the text is not a time, or if the year in the zone does not have four digits.
   */
  toLocal(timestamp: string): string;
  /** Returns the offset from UTC in ms at a time in ms since 1970. Offsets before standard time have seconds. */
  getOffsetMs(time: number): number;
}

/**
 * Creates a time zone from its name, or the time zone of the process without a name.
 *
 * @throws RangeError if the name is not that of a time zone
 */
export function createTimeZone(name: string = getProcessTimeZone()): TimeZone {
  const canonical = getCanonicalTimeZone(name);
  if (canonical === undefined) throw new RangeError(`timezone must ${TIME_ZONE_MUST}`);
  if (canonical === 'UTC') return { name: canonical, toLocal: (timestamp) => timestamp, getOffsetMs: () => 0 };
  return {
    name,
    toLocal: (timestamp) => toLocal(getFormat(name), timestamp),
    getOffsetMs: (time) => getOffsetMs(getFormat(name), time),
  };
}

/** Throws RangeError for an unknown zone. */
function getFormat(timeZone: string): Intl.DateTimeFormat {
  const cached = formats.get(timeZone);
  if (cached) return cached;
  const format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' });
  const [oldest] = formats.keys();
  if (formats.size >= MAX_FORMATS && oldest !== undefined) formats.delete(oldest);
  formats.set(timeZone, format);
  return format;
}

function toLocal(format: Intl.DateTimeFormat, timestamp: string): string {
  const time = Date.parse(timestamp);
  if (Number.isNaN(time)) return timestamp;
  // Offsets before standard time had seconds, which ISO 8601 excludes.
  const minutes = Math.trunc(getOffsetMs(format, time) / MINUTE_MS);
  const wallClock = new Date(time + minutes * MINUTE_MS).toISOString();
  return /^\d{4}-/.test(wallClock) ? wallClock.replace('Z', formatOffset(minutes)) : timestamp;
}

/** Returns the offset from UTC in ms. */
function getOffsetMs(format: Intl.DateTimeFormat, time: number): number {
  const [, sign, hours = 0, minutes = 0, seconds = 0] =
    /GMT([+-])(\d+):(\d+)(?::(\d+))?/.exec(format.format(time)) ?? [];
  const ms = (Number(hours) * 60 + Number(minutes)) * MINUTE_MS + Number(seconds) * 1000;
  return sign === '-' ? -ms : ms;
}

function formatOffset(minutes: number): string {
  const [hour, minute] = [Math.trunc(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `${minutes < 0 ? '-' : '+'}${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`;
}
