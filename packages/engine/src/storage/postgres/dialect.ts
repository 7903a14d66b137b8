import { type Dialect, namespaceBeside } from '../sql/dialect.ts';
import { join, raw, sql } from '../sql/sql.ts';
import { memoriesBy } from './row.ts';

export const POSTGRES: Dialect = {
  isIn: (column, values) => sql`${column} = ANY(${values}::text[])`,
  isMemory: (column, namespace, ordinals) =>
    sql`${namespaceBeside(column)} = ${namespace} AND ${raw(column)} = ANY(${ordinals}::bigint[])`,
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
  least: raw('least'),
  greatest: raw('greatest'),
  memoryKey: raw('(namespace, ordinal)'),
  // So that connections that store at once do not wait for each other.
  ownSlot: raw('pg_backend_pid() % 16'),
  forShare: raw('FOR SHARE'),
  skipLocked: raw('FOR UPDATE SKIP LOCKED'),
  jsonField: (column, field) => sql`(${column}::json ->> ${field}::text)`,
  jsonArray: (value, order) => sql`coalesce(json_agg(${value} ORDER BY ${order}), '[]')::text`,
  jsonObject: (key, value) => sql`coalesce(json_object_agg(${key}, ${value}), '{}')::text`,
};
