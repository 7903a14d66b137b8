import type { Filter } from '@memoryd/client';

/** A property by which memories can be filtered. */
export interface Field {
  name: 'tag' | 'tier' | 'session_id' | 'source' | 'since' | 'until' | 'metadata';
  label: string;
  placeholder: string;
}

export const FIELDS: readonly Field[] = [
  { name: 'tag', label: 'Tag', placeholder: 'e.g. family' },
  { name: 'tier', label: 'Tier', placeholder: '' },
  { name: 'session_id', label: 'Session', placeholder: 'Full session id' },
  { name: 'source', label: 'Source', placeholder: 'e.g. api' },
  { name: 'since', label: 'Since', placeholder: '' },
  { name: 'until', label: 'Until', placeholder: '' },
  { name: 'metadata', label: 'Metadata', placeholder: 'key=value' },
];

export const TIERS = ['working', 'episodic', 'semantic'] as const;

/** A condition as an address parameter: `tag=family`, `metadata.room=kitchen`. */
export interface Condition {
  name: string;
  value: string;
}

const METADATA = 'metadata.';

/** Returns the filter conditions in a route's parameters; other parameters are ignored. */
export function parseConditions(params: URLSearchParams): Condition[] {
  return [...params]
    .filter(([name]) => name.startsWith(METADATA) || FIELDS.some((field) => field.name === name))
    .map(([name, value]) => ({ name, value }));
}

/**
 * Returns an error message if the input for `metadata` is not of the form `key=value`. Returns undefined for empty
 * input and for other fields.
 */
export function getInputError(field: Field['name'], text: string): string | undefined {
  if (field !== 'metadata' || text.trim() === '' || parseCondition(field, text)) return undefined;
  return 'Metadata must be a field, an equals sign and a value, such as room=kitchen.';
}

/**
 * Parses the input for a field. Returns undefined if the input is empty, or if the input for `metadata` is not of the
 * form `key=value`.
 *
 * @throws RangeError if the input for `since` or `until` is not a date and time
 */
export function parseCondition(field: Field['name'], text: string): Condition | undefined {
  const value = text.trim();
  if (value === '') return undefined;
  if (field === 'since' || field === 'until') return { name: field, value: new Date(value).toISOString() };
  if (field !== 'metadata') return { name: field, value };
  const [, key, expected] = /^([^=]+)=(.*)$/s.exec(value) ?? [];
  if (key === undefined || expected === undefined) return undefined;
  return { name: METADATA + key.trim(), value: expected.trim() };
}

/**
 * Returns the parameters with a condition added. A tag is added to the other tags; any other condition replaces the
 * condition with the same name.
 */
export function withCondition(params: URLSearchParams, { name, value }: Condition): URLSearchParams {
  const copy = new URLSearchParams(params);
  if (name === 'tag') {
    copy.delete(name, value);
    copy.append(name, value);
  } else copy.set(name, value);
  return copy;
}

export function withoutCondition(params: URLSearchParams, { name, value }: Condition): URLSearchParams {
  const copy = new URLSearchParams(params);
  copy.delete(name, value);
  return copy;
}

/** Returns the filter conditions in a route's parameters as fields of a request. */
export function parseFilter(params: URLSearchParams): Filter {
  const filter: Filter = {};
  const metadata: [key: string, value: string][] = [];
  for (const { name, value } of parseConditions(params)) {
    if (name === 'tag') filter.tag = [...(filter.tag ?? []), value];
    else if (name === 'tier') filter.tier = value as NonNullable<Filter['tier']>;
    else if (name.startsWith(METADATA)) metadata.push([name.slice(METADATA.length), value]);
    else filter[name as 'session_id' | 'source' | 'since' | 'until'] = value;
  }
  return metadata.length > 0 ? { ...filter, metadata: Object.fromEntries(metadata) } : filter;
}
