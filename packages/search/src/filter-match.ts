import type { FilterTest } from '@memoryd/contract';

/**
 * Returns true if the value of a field meets a test of a filter. The rule is the same as in SQL (`filter-condition.ts`
 * in core): numbers compare with numbers, texts with texts by code point, and values of other types do not match.
 *
 * @param value the value of the field as JSON, times in ms since 1970; undefined if the memory has none
 */
export function meetsTest(value: unknown, test: FilterTest): boolean {
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
