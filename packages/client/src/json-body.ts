import { MemoryError } from './memory-error.ts';

/**
 * Serializes a request body as JSON. Rejects NaN and Infinity, which `JSON.stringify` would write as null, and BigInt,
 * for which `JSON.stringify` would throw a TypeError. Rejects undefined in a filter, which `JSON.stringify` would leave
 * out, so that the filter would match more.
 *
 * @throws MemoryError INVALID_REQUEST with the path of the first value that is rejected
 */
export function toJsonBody(body: unknown): string {
  assertSerializable(body, []);
  return JSON.stringify(body);
}

/**
 * Serializes the `filter` of a request as JSON for a URL.
 *
 * @throws MemoryError as `toJsonBody`
 */
export function toFilterText(filter: unknown): string {
  assertSerializable(filter, [FILTER]);
  return JSON.stringify(filter);
}

const FILTER = 'filter';

function assertSerializable(value: unknown, names: readonly string[]): void {
  const rule = value === undefined && names.length > 1 && names[0] === FILTER ? NOT_UNDEFINED : getNumberRule(value);
  if (rule !== undefined) {
    const path = names.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
    const message = `${names.join('.') || 'body'} must ${rule}`;
    throw new MemoryError('INVALID_REQUEST', message, { details: [{ path, message }] });
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) assertSerializable(inner, [...names, name]);
}

const NOT_UNDEFINED = 'not be undefined; leave it out';

function getNumberRule(value: unknown): string | undefined {
  if (typeof value === 'bigint') return 'be a number or a string: JSON has no BigInt';
  return typeof value === 'number' && !Number.isFinite(value) ? 'be a finite number' : undefined;
}
