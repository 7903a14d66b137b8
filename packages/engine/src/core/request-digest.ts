/** SHA-256 of a request in hexadecimal, the same however the fields of its objects are ordered. */
export async function requestDigest(request: unknown): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(request, sortFields));
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function sortFields(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
