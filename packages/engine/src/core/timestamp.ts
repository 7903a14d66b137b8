/** Milliseconds since 1970 of a validated timestamp. */
export function toMs(timestamp: string): number {
  // A leap second, which RFC 3339 allows and the language's parser does not, counts as the second before it.
  return Date.parse(
    timestamp
      .replace(/:60(?=[.Zz+-])/, ':59')
      .toUpperCase()
      .replace(' ', 'T'),
  );
}

export function toTimestamp(ms: number): string {
  return new Date(ms).toISOString();
}

export function toTimestampOrNull(ms: number | null): string | null {
  return ms === null ? null : toTimestamp(ms);
}
