const numbers = new Intl.NumberFormat('en');
const dateTimes = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
const days = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' });
const dates = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full' });
const times = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short' });
const relativeTimes = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** Formats a number with separators: `1,234`. */
export const formatNumber = (value: number): string => numbers.format(value);

/** Formats a number with its noun: `1 memory`, `2 memories`. */
export const formatCount = (value: number, singular: string, plural = `${singular}s`): string =>
  `${formatNumber(value)} ${value === 1 ? singular : plural}`;

/** Formats a number of which more may exist that were not counted: `10,000+`. */
export const formatCounted = (value: number, hasMore: boolean): string => `${formatNumber(value)}${hasMore ? '+' : ''}`;

/** Formats a number of memories of which more may exist that were not counted: `1 memory`, `10,000+ memories`. */
export const formatMemories = (value: number, hasMore = false): string =>
  `${formatCounted(value, hasMore)} ${value === 1 ? 'memory' : 'memories'}`;

/** Formats a date and time: `12 Mar 2026, 14:05`. */
export const formatDateTime = (at: string | number): string => dateTimes.format(new Date(at));

/** Formats a date without its weekday: `12 Mar 2026`. */
export const formatDay = (at: string | number): string => days.format(new Date(at));

/** Formats a date: `Thursday, 12 March 2026`. */
export const formatDate = (at: string): string => dates.format(new Date(at));

/** Formats a period: `12 Mar 2026, 14:05–14:30`, or the dates if it has several: `9 Oct – 29 Nov 2026`. */
export function formatPeriod(from: string, to: string): string {
  const [start, end] = [new Date(from), new Date(to)];
  const isOneDay = start.toDateString() === end.toDateString();
  return (isOneDay ? dateTimes : days).formatRange(start, end);
}

/** Formats a time of day: `14:05`. */
export const formatTime = (at: string | number): string => times.format(new Date(at));

/** Formats a size in megabytes (1,000,000 bytes) in kB, MB or GB. */
export function formatSize(megabytes: number): string {
  if (megabytes >= 1000) return `${(megabytes / 1000).toFixed(2)} GB`;
  if (megabytes >= 1) return `${megabytes.toFixed(1)} MB`;
  return `${Math.round(megabytes * 1000)} kB`;
}

/** Formats a latency in milliseconds: `4.2 ms`, `120 ms`. */
export function formatLatency(valueMs: number): string {
  return `${valueMs >= 100 ? Math.round(valueMs) : valueMs.toFixed(1)} ms`;
}

export const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const UNITS: readonly [Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];

/** Formats a time relative to now: `3 hours ago`, `in 40 minutes`. */
export function formatRelativeTime(at: string | number, now = Date.now()): string {
  const seconds = (new Date(at).getTime() - now) / 1000;
  const unit = UNITS.find(([, length]) => Math.abs(seconds) >= length);
  if (unit) return relativeTimes.format(Math.round(seconds / unit[1]), unit[0]);
  return seconds > 0 ? 'in a moment' : 'just now';
}

/** Formats a metadata value: a text as it is, any other value as JSON. */
export const formatValue = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
