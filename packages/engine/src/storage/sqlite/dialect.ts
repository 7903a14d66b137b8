import { type Dialect, namespaceBeside } from '../sql/dialect.ts';
import { join, raw, type Sql, sql } from '../sql/sql.ts';

export const SQLITE: Dialect = {
  isIn: (column, values) => sql`${column} IN (SELECT value FROM json_each(${JSON.stringify(values)}))`,
  // By its first condition alone, SQLite would go through the namespace.
  isMemory: (column, namespace, ordinals) => sql`+${namespaceBeside(column)} = ${namespace}
    AND ${raw(column)} IN (SELECT value FROM json_each(${JSON.stringify(ordinals)}))`,
  records(name, columns, values) {
    const selected = Object.keys(columns).map((column) => raw(`value ->> '${column}' AS "${column}"`));
    return sql`(SELECT ${join(selected, ', ')} FROM json_each(${JSON.stringify(values)})) AS ${raw(name)}`;
  },
  ordinals: (name, values) =>
    sql`(SELECT value AS ordinal, key + 1 AS place FROM json_each(${JSON.stringify(values)})) AS ${raw(name)}`,
  // A cross join keeps its order.
  joinMemory(name, key, index) {
    const conditions = Object.entries(key).map(([column, value]) => sql`${raw(`${name}.${column}`)} = ${value}`);
    const hint = index === undefined ? raw('') : indexedBy(index);
    return sql`CROSS JOIN memory ${raw(name)} ${hint} ON ${join(conditions, ' AND ')}`;
  },
  indexedBy,
  unindexed: (column) => sql`+${column}`,
  least: raw('min'),
  greatest: raw('max'),
  memoryKey: raw('(ordinal)'),
  // A file has one writer.
  ownSlot: raw('0'),
  forShare: raw(''),
  skipLocked: raw(''),
  jsonField: (column, field) => sql`(${column} ->> ${field})`,
  jsonArray: (value, order) => sql`json_group_array(${value} ORDER BY ${order})`,
  jsonObject: (key, value) => sql`json_group_object(${key}, ${value})`,
};

function indexedBy(index: string): Sql {
  return raw(`INDEXED BY ${index}`);
}
