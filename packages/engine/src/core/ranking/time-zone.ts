import { tzOffset } from '@date-fns/tz/tzOffset';
import { LRUCache } from 'lru-cache';

/** Names are read whatever their case, so clients may send any number of them. */
const known = new LRUCache<string, string>({ max: 1000 });

/** Returns the name under which a time zone is known (IANA, or an offset such as `+05:30`); undefined for any other text. */
export function findTimeZone(name: string): string | undefined {
  const before = known.get(name);
  if (before !== undefined) return before;
  try {
    const zone = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
    known.set(name, zone);
    return zone;
  } catch {
    return undefined;
  }
}

/** Returns the minutes by which clocks in a known zone are ahead of UTC at a time in milliseconds since 1970. */
export function getOffsetMinutes(zone: string, time: number): number {
  return zone === 'UTC' ? 0 : tzOffset(zone, new Date(time));
}

const MINUTE_MS = 60_000;

/** Returns what a clock in a zone shows at a time, as the time at which one in UTC shows the same. */
export function toWallClock(zone: string, time: number): number {
  return time + getOffsetMinutes(zone, time) * MINUTE_MS;
}

/**
 * Returns the time at which a clock in a zone shows what one in UTC shows at `wall`. Of the two times at which it shows the
 * same, as clocks go back, it returns the later one; of a time that clocks leave out, about one that they show.
 */
export function fromWallClock(zone: string, wall: number): number {
  const near = wall - getOffsetMinutes(zone, wall) * MINUTE_MS;
  return wall - getOffsetMinutes(zone, near) * MINUTE_MS;
}
