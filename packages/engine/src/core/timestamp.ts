import { invalidRequest } from '@memoryd/contract';

/** The instants that can be written with a year of four digits. */
const FIRST_MS = Date.parse('0000-01-01T00:00:00Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Milliseconds since 1970 of a validated timestamp. INVALID_REQUEST, naming the field, when its zone takes it out of
 * the years from 0000 to 9999.
 */
export function toMs(timestamp: string, field: string): number {
  // A leap second, which RFC 3339 allows and the language's parser does not, counts as the second before it.
  const ms = Date.parse(
    timestamp
      .replace(/:60(?=[.Zz+-])/, ':59')
      .toUpperCase()
      .replace(' ', 'T'),
  );
  if (ms >= FIRST_MS && ms <= LAST_MS) return ms;
  throw invalidRequest([{ path: `/${field}`, message: `${field} must be in the years 0000 to 9999 in UTC` }]);
}

export function toTimestamp(ms: number): string {
  return new Date(ms).toISOString();
}

export function toTimestampOrNull(ms: number | null): string | null {
  return ms === null ? null : toTimestamp(ms);
}
