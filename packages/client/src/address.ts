import { toFilterText } from './json-body.ts';
import { createFieldError, MemoryError } from './memory-error.ts';

/**
 * Replaces the parameter of an operation's path, if it has one, with an id.
 *
 * @throws MemoryError if no URL can contain the id: the empty string; `.` and `..`, which URL parsers resolve even if
 *   escaped (URL Standard, section 4.4); and strings with lone surrogates. The service has nothing with such an id, so
 *   the code is NOT_FOUND as for any unknown id. For a session id, which the caller chooses, it is INVALID_REQUEST
 */
export function toPath(path: string, id = ''): string {
  return path.replace(/\{(\w+)\}/, (_parameter, name: string) => {
    if (id.isWellFormed() && !/^\.{0,2}$/.test(id)) return encodeURIComponent(id);
    if (name === 'session_id') throw createFieldError(name, 'not be empty, . or .., or contain lone surrogates');
    throw new MemoryError(
      'NOT_FOUND',
      `not found: no URL can contain ${JSON.stringify(id)}; use an id or a name that the service returned`,
    );
  });
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
