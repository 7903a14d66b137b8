import { hash } from 'node:crypto';

/** Returns the SHA-256 of a request in hexadecimal, independent of the order of object fields. */
export function getRequestDigest(request: unknown): string {
  return hash('sha256', JSON.stringify(request, sortFields));
}

function sortFields(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
