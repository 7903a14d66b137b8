import type { Filter } from '@memoryd/client';

/** One kind of condition on memories. */
export interface Field {
  name: 'tag' | 'tier' | 'session_id' | 'source' | 'since' | 'until' | 'metadata';
  label: string;
  hint: string;
}

export const FIELDS: readonly Field[] = [
  { name: 'tag', label: 'Tag', hint: 'such as family' },
  { name: 'tier', label: 'Tier', hint: '' },
  { name: 'session_id', label: 'Session', hint: 'its whole id' },
  { name: 'source', label: 'Source', hint: 'such as api' },
  { name: 'since', label: 'Since', hint: '' },
  { name: 'until', label: 'Until', hint: '' },
  { name: 'metadata', label: 'Metadata', hint: 'key=value' },
];

export const TIERS = ['working', 'episodic', 'semantic'] as const;

/** A condition as an address holds it: `tag=family`, `metadata.room=kitchen`. */
export interface Condition {
  name: string;
  value: string;
}

const METADATA = 'metadata.';

/** The conditions that an address asks for; whatever else it holds is none. */
export function parseConditions(asked: URLSearchParams): Condition[] {
  return [...asked]
    .filter(([name]) => name.startsWith(METADATA) || FIELDS.some((field) => field.name === name))
    .map(([name, value]) => ({ name, value }));
}

/** Returns what is wrong with what somebody typed, and how it is right; undefined where nothing is. */
export function getRefusal(field: Field['name'], typed: string): string | undefined {
  if (field !== 'metadata' || typed.trim() === '' || parseCondition(field, typed)) return undefined;
  return 'Metadata must be a field, an equals sign and a value, such as room=kitchen.';
}

/** What somebody chose and typed, as a condition; undefined where it says nothing. */
export function parseCondition(field: Field['name'], typed: string): Condition | undefined {
  const value = typed.trim();
  if (value === '') return undefined;
  if (field === 'since' || field === 'until') return { name: field, value: new Date(value).toISOString() };
  if (field !== 'metadata') return { name: field, value };
  const [, key, wanted] = /^([^=]+)=(.*)$/s.exec(value) ?? [];
  return key === undefined || wanted === undefined ? undefined : { name: METADATA + key.trim(), value: wanted.trim() };
}

/** An address with one condition more; only tags and metadata may be asked for several times. */
export function withCondition(asked: URLSearchParams, { name, value }: Condition): URLSearchParams {
  const wider = new URLSearchParams(asked);
  if (name === 'tag') {
    wider.delete(name, value);
    wider.append(name, value);
  } else wider.set(name, value);
  return wider;
}

export function withoutCondition(asked: URLSearchParams, { name, value }: Condition): URLSearchParams {
  const narrower = new URLSearchParams(asked);
  narrower.delete(name, value);
  return narrower;
}

/** The conditions of an address as the service takes them. */
export function parseFilter(asked: URLSearchParams): Filter {
  const filter: Filter = {};
  const metadata: [key: string, value: string][] = [];
  for (const { name, value } of parseConditions(asked)) {
    if (name === 'tag') filter.tag = [...(filter.tag ?? []), value];
    else if (name === 'tier') filter.tier = value as NonNullable<Filter['tier']>;
    else if (name.startsWith(METADATA)) metadata.push([name.slice(METADATA.length), value]);
    else filter[name as 'session_id' | 'source' | 'since' | 'until'] = value;
  }
  return metadata.length > 0 ? { ...filter, metadata: Object.fromEntries(metadata) } : filter;
}
