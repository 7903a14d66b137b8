import type { ErrorDetail } from './error-body.ts';

/**
 * Finds the first value, at any depth, that does not survive a JSON round trip, and returns its problem. JSON parsers
 * read 1e400 as Infinity, and an integer above 2^53 - 1 as a nearby integer (RFC 8259, section 6). Callers in the same
 * process can pass any value, such as a Date.
 *
 * @param names path to the value, starting with the field
 */
export function findUnstorable(value: unknown, names: readonly string[]): ErrorDetail | undefined {
  const rule = getJsonRule(value);
  if (rule !== undefined) {
    const path = names.map((name) => `/${escapePointer(name)}`).join('');
    return { path, message: `${shortenName(names.join('.'))} must ${rule}` };
  }
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    const unstorable = findUnstorable(inner, [...names, name]);
    if (unstorable) return unstorable;
  }
  return undefined;
}

function getJsonRule(value: unknown): string | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return undefined;
    case 'number':
      if (!Number.isFinite(value)) return 'be a finite number';
      return Number.isInteger(value) && !Number.isSafeInteger(value) ? SAFE_INTEGER_RULE : undefined;
    case 'bigint':
      return SAFE_INTEGER_RULE;
    case 'object':
      if (value === null || Array.isArray(value) || isPlain(value)) return undefined;
  }
  return 'be a JSON value: a string, a number, true, false, null, an array or an object';
}

const SAFE_INTEGER_RULE = `be an integer from ${Number.MIN_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}; use a string for other integers`;

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Returns true if every string in a JSON value can be stored unchanged: no U+0000 and no lone surrogates. */
export function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return !value.includes('\0') && value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([key, inner]) => isStorable(key) && isStorable(inner));
}

/** Escapes a field name for a JSON Pointer (RFC 6901). */
export function escapePointer(field: string): string {
  return field.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** Maximum length of a field name in a message, in UTF-16 code units. */
const MAX_NAME_LENGTH = 100;

/** Cuts a name for a message. */
export function shortenName(name: string): string {
  return name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH).toWellFormed()}…` : name;
}
