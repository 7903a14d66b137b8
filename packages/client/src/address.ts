import { unsendable } from './memory-error.ts';

/**
 * An operation's path with an id in place of its parameter; undefined for an id that no URL can name. Those are the
 * empty one, `.` and `..`, which URLs resolve however they are written (URL Standard, section 4.4), and texts that
 * UTF-8 does not have.
 */
export function pathTo(path: string, id: string): string | undefined {
  if (/^\.{0,2}$/.test(id)) return undefined;
  try {
    const segment = encodeURIComponent(id);
    return path.replace(/\{\w+\}/, () => segment);
  } catch {
    return undefined;
  }
}

/**
 * A request as a query string with its question mark, or nothing where it asks for nothing. Lists are written as a
 * parameter that comes again, metadata as `metadata.<key>`.
 *
 * @throws MemoryError INVALID_REQUEST for texts that UTF-8 does not have
 */
export function queryString(request: object): string {
  const pairs = Object.entries(request).flatMap(([name, value]) => getPairs(name, value));
  return pairs.length > 0 ? `?${pairs.join('&')}` : '';
}

function getPairs(name: string, value: unknown): string[] {
  if (value === undefined) return [];
  // No list is written like a list of one empty text, which is refused as an empty list is.
  if (Array.isArray(value)) return (value.length > 0 ? value : ['']).map((item) => pair(name, item));
  if (name === 'metadata' && typeof value === 'object' && value) {
    return Object.entries(value).map(([key, wanted]) => pair(`metadata.${key}`, wanted));
  }
  return [pair(name, value)];
}

function pair(name: string, value: unknown): string {
  try {
    return `${encodeURIComponent(name)}=${encodeURIComponent(getText(value))}`;
  } catch {
    throw unsendable(name, 'not contain a lone surrogate');
  }
}

// The service reads plain decimals: 0.0000001, never 1e-7.
function getText(value: unknown): string {
  const text = String(value);
  return typeof value === 'number' && text.includes('e-') ? value.toFixed(20) : text;
}
