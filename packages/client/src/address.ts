import { toFilterText } from './json-body.ts';
import { createFieldError } from './memory-error.ts';

/**
 * Replaces the parameter of an operation's path with an id. Returns undefined for ids that cannot be encoded in a URL:
 * the empty string; `.` and `..`, which URL parsers resolve even if escaped (URL Standard, section 4.4); and strings
 * with lone surrogates.
 */
export function toPath(path: string, id: string): string | undefined {
  if (/^\.{0,2}$/.test(id)) return undefined;
  try {
    const segment = encodeURIComponent(id);
    return path.replace(/\{\w+\}/, () => segment);
  } catch {
    return undefined;
  }
}

/**
 * Encodes a request as a query string with a leading question mark. Returns an empty string for an empty request. Lists
 * become repeated parameters. Each metadata field becomes a parameter, such as `metadata.room`. A filter becomes JSON.
 * Undefined fields are omitted.
 *
 * @throws MemoryError INVALID_REQUEST for strings with lone surrogates, and for null, empty strings and empty lists,
 *   because the service treats an empty parameter as absent
 */
export function toQueryString(request: object): string {
  const pairs = Object.entries(request).flatMap(([name, value]) => getPairs(name, value));
  return pairs.length > 0 ? `?${pairs.join('&')}` : '';
}

function getPairs(name: string, value: unknown): string[] {
  if (value === undefined) return [];
  if (Array.isArray(value)) {
    if (value.length === 0) throw createEmptyError(name);
    return value.map((item) => toPair(name, item));
  }
  if (name === 'metadata' && typeof value === 'object' && value) {
    return Object.entries(value).map(([key, wanted]) => toPair(`metadata.${key}`, wanted));
  }
  if (name === 'filter') return [toPair(name, toFilterText(value))];
  return [toPair(name, value)];
}

function toPair(name: string, value: unknown): string {
  if (value === '' || value === null) throw createEmptyError(name);
  try {
    return `${encodeURIComponent(name)}=${encodeURIComponent(toText(value))}`;
  } catch {
    throw createFieldError(name, 'not contain a lone surrogate');
  }
}

function createEmptyError(name: string): Error {
  return createFieldError(name, 'not be null or empty; leave it out');
}

// The service accepts plain decimals such as 0.0000001, but not 1e-7.
function toText(value: unknown): string {
  const text = String(value);
  return typeof value === 'number' && text.includes('e-') ? value.toFixed(20) : text;
}
