import type { FilterCondition, FilterField, FilterTest } from '@memoryd/contract';
import { type FilterFields, getMetadataPath } from './filter.ts';

/** The property with the value of each field. */
const PROPERTIES = {
  tag: 'tags',
  source: 'source',
  session_id: 'sessionId',
  external_id: 'externalId',
  tier: 'tier',
  importance: 'importance',
  created_at: 'createdAt',
  updated_at: 'updatedAt',
  valid_from: 'validFrom',
  valid_to: 'validTo',
} as const satisfies Record<FilterField, keyof FilterFields>;

/** Returns the fields of a memory that a filter can test, without all others. */
export function pickFilterFields(memory: FilterFields): FilterFields {
  const names = [...Object.values(PROPERTIES), 'metadata'] as const;
  return Object.fromEntries(names.map((name) => [name, memory[name]])) as unknown as FilterFields;
}

/** Returns true if a memory matches a filter. */
export function meetsCondition(memory: FilterFields, condition: FilterCondition): boolean {
  if ('all' in condition) return condition.all.every((part) => meetsCondition(memory, part));
  if ('any' in condition) return condition.any.some((part) => meetsCondition(memory, part));
  if ('not' in condition) return !meetsCondition(memory, condition.not);
  return meetsFieldTest(condition.field, getValue(memory, condition.field), condition);
}

function getValue(memory: FilterFields, field: string): unknown {
  const path = getMetadataPath(field);
  if (field === 'valid_from') return memory.validFrom ?? memory.createdAt;
  if (!path) return memory[PROPERTIES[field as FilterField]] ?? undefined;
  return path.reduce<unknown>(
    (value, key) => (isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    memory.metadata,
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Returns true if the value of a field meets a test, as in `meetsTest`. A memory meets a test of its tags if one of them
 * does.
 */
export function meetsFieldTest(field: string, value: unknown, test: FilterTest): boolean {
  return field === 'tag' ? Array.isArray(value) && value.some((tag) => meetsTest(tag, test)) : meetsTest(value, test);
}

/**
 * Returns true if the value of a field meets a test of a filter. The rule is the same as in SQL (`filter-condition.ts`
 * in core): numbers compare with numbers, texts with texts by code point, and values of other types do not match.
 *
 * @param value the value of the field as JSON, times in ms since 1970; undefined if the memory has none
 */
function meetsTest(value: unknown, test: FilterTest): boolean {
  if (value === undefined) return false;
  switch (test.operator) {
    case '$exists':
      return true;
    case '$in':
      return test.values.some((wanted) => value === wanted);
    case '$contains':
      return Array.isArray(value) && value.includes(test.value);
    case '$prefix':
      return typeof value === 'string' && value.startsWith(test.value);
    default:
      return typeof value === typeof test.value && isOrdered(test.operator, compare(value as never, test.value));
  }
}

function isOrdered(operator: '$gt' | '$gte' | '$lt' | '$lte', order: number): boolean {
  switch (operator) {
    case '$gt':
      return order > 0;
    case '$gte':
      return order >= 0;
    case '$lt':
      return order < 0;
    case '$lte':
      return order <= 0;
  }
}

function compare(one: string | number, other: string | number): number {
  if (typeof one === 'string' && typeof other === 'string') return compareCodePoints(one, other);
  return one < other ? -1 : Number(one > other);
}

/** Compares two texts by code point. The operator `<` compares UTF-16 code units, as of which surrogates precede U+E000. */
function compareCodePoints(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  let at = 0;
  while (at < length && one.charCodeAt(at) === other.charCodeAt(at)) at++;
  if (at === length) return one.length - other.length;
  return toOrder(one.charCodeAt(at)) - toOrder(other.charCodeAt(at));
}

const SURROGATES = 0xd800;
const AFTER_SURROGATES = 0xe000;

/** Returns a number by which UTF-16 code units are in the order of their code points. */
function toOrder(unit: number): number {
  return unit >= SURROGATES && unit < AFTER_SURROGATES ? unit + 0x10000 : unit;
}
