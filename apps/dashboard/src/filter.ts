import type { Filter, MemoriesRequest } from '@memoryd/client';
import { withoutParams } from './route.ts';

/** A property by which memories can be filtered. */
export interface Field {
  name:
    | 'tag'
    | 'tier'
    | 'session_id'
    | 'source'
    | 'user_id'
    | 'agent_id'
    | 'since'
    | 'until'
    | 'as_of'
    | 'ended'
    | 'metadata'
    | 'current';
  label: string;
  placeholder: string;
  /** Whether memories with a value can be left out. */
  canExclude?: boolean;
  /** Whether the service counts the values of the field. */
  hasFacet?: boolean;
}

const COUNTED = { canExclude: true, hasFacet: true };

export const FIELDS: readonly Field[] = [
  { name: 'tag', label: 'Tag', placeholder: 'e.g. family', ...COUNTED },
  { name: 'tier', label: 'Tier', placeholder: '', ...COUNTED },
  { name: 'session_id', label: 'Session', placeholder: 'Full session id', ...COUNTED },
  { name: 'source', label: 'Source', placeholder: 'e.g. api', ...COUNTED },
  { name: 'user_id', label: 'User', placeholder: 'Full user id', hasFacet: true },
  { name: 'agent_id', label: 'Agent', placeholder: 'Full agent id', hasFacet: true },
  { name: 'since', label: 'Since', placeholder: '' },
  { name: 'until', label: 'Until', placeholder: '' },
  { name: 'as_of', label: 'As of', placeholder: '' },
  { name: 'metadata', label: 'Metadata', placeholder: 'key=value', canExclude: true },
  { name: 'current', label: 'Validity', placeholder: '' },
  { name: 'ended', label: 'Ended by', placeholder: '' },
];

/** The choice of the field `current` for memories whose end has passed when it is chosen. */
export const ENDED = 'ended';

/** The fields that a request has under the same name, with one text as value. */
const PLAIN_FIELDS: readonly string[] = ['tier', 'session_id', 'source', 'since', 'until', 'as_of'];

/** Returns whether the value of a field is a time. */
export function isTimeField(name: string): boolean {
  return name === 'since' || name === 'until' || name === 'as_of' || name === 'ended';
}

export const TIERS = ['working', 'episodic', 'semantic'] as const;

/** A condition as an address parameter: `tag=family`, `metadata.room=kitchen`, `not.tag=family`. */
export interface Condition {
  name: string;
  value: string;
}

const METADATA = 'metadata.';
const NOT = 'not.';

const isExcluding = (name: string): boolean => name.startsWith(NOT);
const withoutNot = (name: string): string => (isExcluding(name) ? name.slice(NOT.length) : name);

/** Returns the field of a condition; undefined if the parameter is no condition. */
function findField(name: string): Field | undefined {
  const plain = withoutNot(name);
  const field = FIELDS.find((one) => one.name === (plain.startsWith(METADATA) ? 'metadata' : plain));
  return isExcluding(name) && !field?.canExclude ? undefined : field;
}

/** Returns the parts of a condition that are shown, and the opposite condition if there is one. */
export function describeCondition({ name, value }: Condition): {
  label: string;
  isExcluded: boolean;
  opposite: Condition | undefined;
} {
  const field = findField(name);
  const plain = withoutNot(name);
  const isExcluded = isExcluding(name);
  const opposite = field?.canExclude ? { name: isExcluded ? plain : NOT + plain, value } : undefined;
  return {
    label: field === undefined || field.name === 'metadata' ? plain.replace(METADATA, '') : field.label,
    isExcluded,
    opposite,
  };
}

/** Returns the filter conditions in a route's parameters; other parameters are ignored. */
export function parseConditions(params: URLSearchParams): Condition[] {
  return [...params].filter(([name]) => findField(name)).map(([name, value]) => ({ name, value }));
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
 * @param isExcluded whether the condition leaves out the memories with the value
 * @throws RangeError if the input for a field with a time is not a date and time
 */
export function parseCondition(field: Field['name'], text: string, isExcluded = false): Condition | undefined {
  const value = text.trim();
  const not = isExcluded ? NOT : '';
  if (value === '') return undefined;
  if (field === 'current' && value === ENDED) return { name: 'ended', value: new Date().toISOString() };
  if (isTimeField(field)) return { name: field, value: new Date(value).toISOString() };
  if (field !== 'metadata') return { name: not + field, value };
  const [, key, expected] = /^([^=]+)=(.*)$/s.exec(value) ?? [];
  if (key === undefined || expected === undefined) return undefined;
  return { name: not + METADATA + key.trim(), value: expected.trim() };
}

/**
 * Returns the parameters with a condition added, and without its opposite. A tag or an excluding condition is added to
 * the others of its name; any other condition replaces the condition with the same name.
 */
export function withCondition(params: URLSearchParams, condition: Condition): URLSearchParams {
  const { name, value } = condition;
  const copy = new URLSearchParams(params);
  const { opposite } = describeCondition(condition);
  if (opposite) copy.delete(opposite.name, opposite.value);
  // The service refuses them together.
  if (name === 'current') copy.delete('as_of');
  if (name === 'as_of') copy.delete('current');
  if (name === 'tag' || isExcluding(name)) {
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

/** Returns the parameters without conditions and words. */
export function withoutFilter(params: URLSearchParams): URLSearchParams {
  return withoutParams(params, 'q', ...parseConditions(params).map(({ name }) => name));
}

/** The conditions of a view as fields of a request. */
type FilterRequest = Filter & { current?: true; as_of?: string };

/**
 * Returns the filter conditions in a route's parameters as fields of a request, without those of the scope, which the
 * client adds.
 */
export function parseFilter(params: URLSearchParams): FilterRequest {
  const request: FilterRequest = {};
  const metadata: [key: string, value: string][] = [];
  const conditions = parseConditions(params);
  for (const { name, value } of conditions) {
    if (name === 'tag') request.tag = [...(request.tag ?? []), value];
    else if (name === 'current') request.current = true;
    else if (name.startsWith(METADATA)) metadata.push([name.slice(METADATA.length), value]);
    else if (PLAIN_FIELDS.includes(name)) request[name as 'session_id'] = value;
  }
  const expression = toExpression(conditions);
  return {
    ...request,
    ...(Object.keys(expression).length > 0 && { filter: expression }),
    ...(metadata.length > 0 && { metadata: Object.fromEntries(metadata) }),
  };
}

/** Returns the conditions that only a filter expression can state. */
function toExpression(conditions: readonly Condition[]): NonNullable<Filter['filter']> {
  const fields = new Map<string, object>();
  const excluded: Record<string, (string | number | boolean)[]> = {};
  for (const { name, value } of conditions) {
    if (name === 'ended') fields.set('valid_to', { $lte: value });
    if (!isExcluding(name)) continue;
    const field = withoutNot(name);
    excluded[field] = [...(excluded[field] ?? []), ...getExcludedValues(field, value)];
  }
  for (const [field, values] of Object.entries(excluded)) fields.set(field, { $nin: values });
  return Object.fromEntries(fields);
}

/** A condition compares the text of a metadata value; the expression compares JSON, in which `10` is not `"10"`. */
function getExcludedValues(field: string, text: string): (string | number | boolean)[] {
  if (!field.startsWith(METADATA)) return [text];
  if (text === 'true' || text === 'false') return [text, text === 'true'];
  return text !== '' && String(Number(text)) === text ? [text, Number(text)] : [text];
}

/** The selection of a list: the filter and the words. */
export type ListFilter = Omit<MemoriesRequest, 'id' | 'order' | 'dir' | 'offset' | 'growth_at' | 'limit' | 'cursor'>;

/**
 * Returns the selection of memories in a route's parameters as fields of a request. The table, the timeline, the map and
 * the bulk actions use it.
 */
export function parseListFilter(params: URLSearchParams): ListFilter {
  const words = params.get('q')?.trim();
  return { ...parseFilter(params), ...(words && { q: words }) };
}
