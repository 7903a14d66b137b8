import type { Dialect } from '../sql/dialect.ts';
import { join, raw, sql } from '../sql/sql.ts';
import { memoriesBy } from './row.ts';

export const POSTGRES: Dialect = {
  isIn: (column, values) => sql`${column} = ANY(${values}::text[])`,
  records(name, columns, values) {
    const typed = Object.entries(columns).map(([column, type]) => raw(`"${column}" ${type}`));
    return sql`json_to_recordset(${JSON.stringify(values)}::json) AS ${raw(name)}(${join(typed, ', ')})`;
  },
  ordinals: (name, values) => sql`unnest(${values}::bigint[]) WITH ORDINALITY AS ${raw(name)}(ordinal, place)`,
  joinMemory(name, key) {
    const conditions = Object.entries(key).map(([column, value]) => sql`${raw(column)} = ${value}`);
    return sql`JOIN ${memoriesBy(name, join(conditions, ' AND '))} ON true`;
  },
  indexedBy: () => raw(''),
  unindexed: (column) => column,
  forShare: raw('FOR SHARE'),
  jsonArray: (value, order) => sql`coalesce(json_agg(${value} ORDER BY ${order}), '[]')::text`,
  jsonObject: (key, value) => sql`coalesce(json_object_agg(${key}, ${value}), '{}')::text`,
};
