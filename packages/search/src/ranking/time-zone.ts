import { tzOffset } from '@date-fns/tz/tzOffset';
import { getCanonicalTimeZone } from '@memoryd/contract/time-zone';
import { LRUCache } from 'lru-cache';

/**
 * Canonical names by requested name. Bounded, since names are case-insensitive and clients may send any number of
 * variants.
 */
const known = new LRUCache<string, string>({ max: 1000 });

/** Returns the canonical name of a time zone (IANA, or an offset such as `+05:30`); undefined for any other text. */
export function findTimeZone(name: string): string | undefined {
  const before = known.get(name);
  if (before !== undefined) return before;
  const zone = getCanonicalTimeZone(name);
  if (zone !== undefined) known.set(name, zone);
  return zone;
}

/** Returns the offset of a known zone from UTC, in minutes, at a time in milliseconds since 1970. */
export function getOffsetMinutes(zone: string, time: number): number {
  return zone === 'UTC' ? 0 : tzOffset(zone, new Date(time));
}

const MINUTE_MS = 60_000;

/** Converts a time to the wall-clock time of a zone, represented as the time at which a UTC clock shows the same. */
export function toWallClock(zone: string, time: number): number {
  return time + getOffsetMinutes(zone, time) * MINUTE_MS;
}

/**
 * Converts a wall-clock time of a zone, as returned by `toWallClock`, to a time. If clocks show `wall` twice, because
 * they are set back, returns one of the two times. If clocks skip `wall`, returns a nearby time.
 */
export function fromWallClock(zone: string, wall: number): number {
  const near = wall - getOffsetMinutes(zone, wall) * MINUTE_MS;
  return wall - getOffsetMinutes(zone, near) * MINUTE_MS;
}
