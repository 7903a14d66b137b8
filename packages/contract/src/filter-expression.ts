import type { ErrorDetail } from './error-body.ts';
import {
  FILTER_FIELDS,
  type FilterField,
  type FilterKinds,
  type FilterScalar,
  type FilterShape,
} from './filter-type.ts';
import { escapePointer, findUnstorable, isStorable, shortenName } from './json-value.ts';
import { LIMITS } from './limits.ts';
import { parseTime, TIME_MUST } from './time.ts';
import Type from './typebox.ts';

const FILTER_MUST = `be a JSON object of at most ${LIMITS.filterConditions} conditions, ${LIMITS.filterLevels} levels and ${LIMITS.filterBytes} bytes, such as {"tag": "work"}`;

/** See `FilterShape`. */
export type FilterExpression = FilterShape;

export const FilterExpression = Type.Unsafe<FilterExpression>(
  Type.Object(
    {},
    {
      additionalProperties: true,
      description:
        'Only memories that meet all conditions of this JSON object, such as ' +
        '`{"$or": [{"tag": "a"}, {"tag": "b"}], "metadata.price.amount": {"$gte": 100}}`. ' +
        `Fields: ${Object.keys(FILTER_FIELDS).join(', ')}, metadata.PATH. ` +
        'Operators: $eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $exists, $prefix, $contains, $and, $or, $not.',
      'x-must': FILTER_MUST,
    },
  ),
);

/** A comparison with the value of a field. Times are in ms since 1970. */
export type FilterTest =
  | { operator: '$gt' | '$gte' | '$lt' | '$lte'; value: string | number }
  | { operator: '$in'; values: FilterScalar[] }
  | { operator: '$prefix'; value: string }
  | { operator: '$contains'; value: FilterScalar }
  | { operator: '$exists' };

/**
 * A parsed filter. A test of a field without a value is false, and so is a test of a value of another type. `field` is
 * a `FilterField`, or `metadata.` and a path.
 */
export type FilterCondition =
  | { all: FilterCondition[] }
  | { any: FilterCondition[] }
  | { not: FilterCondition }
  | ({ field: string } & FilterTest);

const METADATA = 'metadata.';

/** Returns the problems of a field `filter`: none if the field is absent or `toFilterCondition` accepts it. */
export function checkFilter(filter: unknown): ErrorDetail[] {
  // The schema of a request decides whether null is allowed.
  if (filter === undefined || filter === null) return [];
  try {
    toFilterCondition(filter);
    return [];
  } catch (error) {
    if (error instanceof FilterError) return [error.detail];
    throw error;
  }
}

/**
 * Parses a filter. Returns undefined for an empty object, which matches every memory. Throws an error for an invalid
 * filter; see `checkFilter`.
 */
export function toFilterCondition(filter: unknown): FilterCondition | undefined {
  const place = new Place(['filter']);
  if (isObject(filter) && Object.keys(filter).length === 0) return undefined;
  const parsed = new Parser().parse(filter, place, 1);
  // The parser has limited the depth, which these checks do not.
  const unstorable = findUnstorable(filter, place.names);
  if (unstorable) throw new FilterError(unstorable);
  if (!isStorable(filter)) throw place.refuse('not contain U+0000 or a lone surrogate');
  if (new TextEncoder().encode(JSON.stringify(filter)).length > LIMITS.filterBytes) throw place.refuse(FILTER_MUST);
  return parsed;
}

class FilterError extends Error {
  readonly detail: ErrorDetail;

  constructor(detail: ErrorDetail) {
    super(detail.message);
    this.detail = detail;
  }
}

/** A place in a filter, which messages name. */
class Place {
  readonly names: readonly string[];

  constructor(names: readonly string[]) {
    this.names = names;
  }

  in(name: string | number): Place {
    return new Place([...this.names, String(name)]);
  }

  /** Returns the error that the value at this place must follow a rule. */
  refuse(rule: string): FilterError {
    const names = this.names.map((name) => shortenName(name).toWellFormed());
    const path = names.map((name) => `/${escapePointer(name)}`).join('');
    return new FilterError({ path, message: `${names.join('.')} must ${rule}` });
  }
}

const LOGICAL = ['$and', '$or', '$not'] as const;

type Kind = keyof FilterKinds | 'metadata';
type Parse = (value: unknown, place: Place, kind: Kind) => FilterTest | { not: FilterTest };

const OPERATORS: Readonly<Record<string, Parse>> = {
  $eq: (value, place, kind) => ({ operator: '$in', values: [toScalar(value, place, kind)] }),
  $ne: (value, place, kind) => ({ not: { operator: '$in', values: [toScalar(value, place, kind)] } }),
  $gt: (value, place, kind) => ({ operator: '$gt', value: toOrdered(value, place, kind) }),
  $gte: (value, place, kind) => ({ operator: '$gte', value: toOrdered(value, place, kind) }),
  $lt: (value, place, kind) => ({ operator: '$lt', value: toOrdered(value, place, kind) }),
  $lte: (value, place, kind) => ({ operator: '$lte', value: toOrdered(value, place, kind) }),
  $in: (value, place, kind) => ({ operator: '$in', values: toScalars(value, place, kind) }),
  $nin: (value, place, kind) => ({ not: { operator: '$in', values: toScalars(value, place, kind) } }),
  $exists(value, place) {
    if (typeof value !== 'boolean') throw place.refuse('be true or false');
    return value ? { operator: '$exists' } : { not: { operator: '$exists' } };
  },
  $prefix(value, place, kind) {
    if (kind === 'number' || kind === 'time') throw place.refuse(`not be used: ${place.names.at(-2)} is no text`);
    if (typeof value !== 'string') throw place.refuse('be a string');
    return { operator: '$prefix', value };
  },
  $contains(value, place, kind) {
    if (kind === 'tags') return { operator: '$in', values: [toScalar(value, place, kind)] };
    if (kind !== 'metadata') throw place.refuse(`not be used: ${place.names.at(-2)} is not an array`);
    return { operator: '$contains', value: toScalar(value, place, kind) };
  },
};

function toScalar(value: unknown, place: Place, kind: Kind): FilterScalar {
  if (kind === 'time') return toTime(value, place);
  if (kind === 'number') {
    if (typeof value !== 'number') throw place.refuse('be a number');
    return value;
  }
  if (kind !== 'metadata') {
    if (typeof value !== 'string') throw place.refuse('be a string');
    return value;
  }
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return value as FilterScalar;
  throw place.refuse('be a string, a number, true, false or null; use $contains for an element of an array');
}

function toTime(value: unknown, place: Place): number {
  const time = typeof value === 'string' ? parseTime(value) : undefined;
  if (time === undefined) throw place.refuse(TIME_MUST);
  return time;
}

function toOrdered(value: unknown, place: Place, kind: Kind): string | number {
  const scalar = toScalar(value, place, kind);
  if (typeof scalar !== 'string' && typeof scalar !== 'number') throw place.refuse('be a number or a string');
  return scalar;
}

function toScalars(value: unknown, place: Place, kind: Kind): FilterScalar[] {
  if (!Array.isArray(value) || value.length === 0) throw place.refuse('be an array of at least one value');
  return value.map((item, i) => toScalar(item, place.in(i), kind));
}

class Parser {
  #conditions = 0;

  /** Parses an object of fields and logical operators. */
  parse(value: unknown, place: Place, level: number): FilterCondition {
    const entries = getEntries(value, place, level);
    return toAll(entries.map(([name, inner]) => this.#parseEntry(name, inner, place.in(name), level)));
  }

  #parseEntry(name: string, value: unknown, place: Place, level: number): FilterCondition {
    if (name === '$not') return { not: this.parse(value, place, level + 1) };
    if (name === '$and' || name === '$or') {
      if (!Array.isArray(value) || value.length === 0) throw place.refuse('be an array of at least one filter');
      const parts = value.map((part, i) => this.parse(part, place.in(i), level + 1));
      return name === '$and' ? toAll(parts) : { any: parts };
    }
    return this.#parseField(name, getKind(name, place), value, place, level);
  }

  #parseField(field: string, kind: Kind, value: unknown, place: Place, level: number): FilterCondition {
    if (!isObject(value)) return this.#parseOperator(field, kind, '$eq', value, place);
    const entries = getEntries(value, place, level);
    return toAll(
      entries.map(([name, operand]) => {
        const at = place.in(name);
        return name === '$not'
          ? { not: this.#parseField(field, kind, toOperators(operand, at), at, level + 1) }
          : this.#parseOperator(field, kind, name, operand, at);
      }),
    );
  }

  #parseOperator(field: string, kind: Kind, name: string, operand: unknown, place: Place): FilterCondition {
    const parse = Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined;
    if (!parse) throw place.refuse(`be an operator${suggest(name, [...Object.keys(OPERATORS), '$not'])}`);
    if (++this.#conditions > LIMITS.filterConditions) throw new Place(['filter']).refuse(FILTER_MUST);
    const test = parse(operand, place, kind);
    return 'not' in test ? { not: { field, ...test.not } } : { field, ...test };
  }
}

function toOperators(value: unknown, place: Place): object {
  if (isObject(value)) return value;
  throw place.refuse('be an object of operators, such as {"$gte": 100}');
}

/** Returns the entries of an object of conditions. */
function getEntries(value: unknown, place: Place, level: number): [name: string, value: unknown][] {
  if (!isObject(value)) throw place.refuse('be a JSON object of conditions, such as {"tag": "work"}');
  if (level > LIMITS.filterLevels) throw new Place(['filter']).refuse(FILTER_MUST);
  const entries = Object.entries(value);
  if (entries.length === 0) throw place.refuse('have at least one condition');
  // JSON would leave the condition out, so the filter would match more.
  for (const [name, inner] of entries) if (inner === undefined) throw place.in(name).refuse('not be undefined');
  return entries;
}

function toAll(conditions: FilterCondition[]): FilterCondition {
  const [first] = conditions;
  return conditions.length === 1 && first ? first : { all: conditions };
}

function getKind(name: string, place: Place): Kind {
  if (Object.hasOwn(FILTER_FIELDS, name)) return FILTER_FIELDS[name as FilterField];
  if (name.startsWith(METADATA)) {
    if (!name.split('.').includes('')) return 'metadata';
    throw place.refuse('have a name between all dots, such as metadata.price.amount');
  }
  const known = [...Object.keys(FILTER_FIELDS), ...LOGICAL];
  if (name === 'metadata') throw place.refuse('be followed by a path, such as metadata.price.amount');
  throw place.refuse(`be a field of a filter or $and, $or or $not${suggest(name, [...known, 'metadata.PATH'])}`);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Names the known name that is most like a wrong one. */
function suggest(name: string, known: readonly string[]): string {
  const wrong = name.slice(0, MAX_SUGGESTED_CHARS).toLowerCase();
  const [nearest = ''] = [...known].sort((one, other) => getDistance(wrong, one) - getDistance(wrong, other));
  return `; the nearest is ${nearest}`;
}

const MAX_SUGGESTED_CHARS = 64;

/** Returns the number of inserted, deleted and replaced characters between two texts (Levenshtein 1966). */
function getDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (let i = 0; i < one.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < other.length; j++) {
      const replaced = (row[j] as number) + Number(one[i] !== other[j]);
      next.push(Math.min(replaced, (row[j + 1] as number) + 1, (next[j] as number) + 1));
    }
    row = next;
  }
  return row[other.length] as number;
}
