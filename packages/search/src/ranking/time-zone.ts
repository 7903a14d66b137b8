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
