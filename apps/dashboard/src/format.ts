const counts = new Intl.NumberFormat('en');
const moments = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
const days = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full' });
const clockTimes = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short' });
const distances = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

export const count = (value: number): string => counts.format(value);

/** A count with the word for what is counted. */
export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;

export const moment = (at: string | number): string => moments.format(new Date(at));
export const day = (at: string): string => days.format(new Date(at));
export const clockTime = (at: string | number): string => clockTimes.format(new Date(at));

/** A size given in megabytes of 1,000,000 bytes, in the unit that suits it. */
export function size(megabytes: number): string {
  if (megabytes >= 1000) return `${(megabytes / 1000).toFixed(2)} GB`;
  if (megabytes >= 1) return `${megabytes.toFixed(1)} MB`;
  return `${Math.round(megabytes * 1000)} kB`;
}

/** A latency in milliseconds, with as many digits as tell something. */
export function milliseconds(value: number): string {
  return `${value >= 100 ? Math.round(value) : value.toFixed(1)} ms`;
}

const UNITS: readonly [Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];

/** How far a time is from now: `3 hours ago`, `in 40 minutes`. */
export function distance(at: string | number, now = Date.now()): string {
  const seconds = (new Date(at).getTime() - now) / 1000;
  const [unit, length] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? ['second', 1];
  return unit === 'second'
    ? seconds > 0
      ? 'in a moment'
      : 'just now'
    : distances.format(Math.round(seconds / length), unit);
}
