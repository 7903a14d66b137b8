import type { Tier } from './field.ts';

/** A value that a condition compares with. */
export type FilterScalar = string | number | boolean | null;

/** Operators of every field. `$ne` and `$nin` match what `$eq` and `$in` do not match. */
interface Operators<Value> {
  $eq?: Value;
  $ne?: Value;
  $in?: readonly Value[];
  $nin?: readonly Value[];
  /** Whether the memory has a value, which may be null in `metadata`. */
  $exists?: boolean;
}

interface OrderOperators<Value> extends Operators<Value> {
  $gt?: Value;
  $gte?: Value;
  $lt?: Value;
  $lte?: Value;
}

interface TextOperators extends OrderOperators<string> {
  $prefix?: string;
}

interface TagOperators extends TextOperators {
  $contains?: string;
}

interface MetadataOperators extends Operators<FilterScalar> {
  $gt?: string | number;
  $gte?: string | number;
  $lt?: string | number;
  $lte?: string | number;
  $prefix?: string;
  /** An element of an array. */
  $contains?: FilterScalar;
}

/** The values and operators of each kind of field. */
export interface FilterKinds {
  text: string | Negatable<TextOperators>;
  tier: Tier | Negatable<TextOperators>;
  number: number | Negatable<OrderOperators<number>>;
  /** Times as in all requests. A date alone is its first instant in UTC. */
  time: string | Negatable<OrderOperators<string>>;
  /** A memory matches if one of its tags matches. */
  tags: string | Negatable<TagOperators>;
}

type Negatable<Fields> = Fields & { $not?: Negatable<Fields> };

/** The fields of a filter and their kinds, besides the fields `metadata.PATH`. */
export const FILTER_FIELDS = {
  tag: 'tags',
  source: 'text',
  session_id: 'text',
  external_id: 'text',
  tier: 'tier',
  importance: 'number',
  created_at: 'time',
  updated_at: 'time',
  valid_from: 'time',
  valid_to: 'time',
} as const satisfies Record<string, keyof FilterKinds>;

export type FilterField = keyof typeof FILTER_FIELDS;

/**
 * A filter: fields with the value that they must equal or with operators, and `$and`, `$or` and `$not`. All conditions
 * of an object must match. The dots of `metadata.PATH` go into objects.
 */
export type FilterShape = {
  [Field in FilterField]?: FilterKinds[(typeof FILTER_FIELDS)[Field]];
} & {
  [path: `metadata.${string}`]: FilterScalar | Negatable<MetadataOperators>;
  $and?: readonly FilterShape[];
  $or?: readonly FilterShape[];
  $not?: FilterShape;
};
