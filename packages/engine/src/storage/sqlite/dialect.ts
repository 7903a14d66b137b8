import { type Dialect, namespaceBeside } from '../sql/dialect.ts';
import { join, raw, type Sql, sql } from '../sql/sql.ts';

export const SQLITE: Dialect = {
  isIn: (column, values) => sql`${column} ${oneOf(values)}`,
  // By its first condition alone, SQLite would go through the namespace.
  isMemory: (column, namespace, ordinals) =>
    sql`+${namespaceBeside(column)} = ${namespace} AND ${raw(column)} ${oneOf(ordinals)}`,
  records(name, columns, values) {
    const names = Object.keys(columns);
    return sql`(${values.length <= FEW ? selectFew(names, values) : selectMany(names, values)}) AS ${raw(name)}`;
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
  forShare: raw(''),
  skipLocked: raw(''),
  jsonField: (column, field) => sql`(${column} ->> ${field})`,
  jsonArray: (value, order) => sql`json_group_array(${value} ORDER BY ${order})`,
  jsonObject: (key, value) => sql`json_group_object(${key}, ${value})`,
};

/** Records that are bound one by one: for so few, a table of JSON takes longer than the statement that it is in. */
const FEW = 4;

function selectFew(columns: readonly string[], values: readonly object[]): Sql {
  if (values.length === 0) return selectMany(columns, values);
  const rows = values.map((value) => {
    const selected = columns.map((column) => sql`${value[column as keyof typeof value]} AS ${raw(`"${column}"`)}`);
    return sql`SELECT ${join(selected, ', ')}`;
  });
  return join(rows, ' UNION ALL ');
}

function selectMany(columns: readonly string[], values: readonly object[]): Sql {
  const selected = columns.map((column) => raw(`value ->> '${column}' AS "${column}"`));
  return sql`SELECT ${join(selected, ', ')} FROM json_each(${JSON.stringify(values)})`;
}

function oneOf(values: readonly unknown[]): Sql {
  return values.length === 1 ? sql`= ${values[0]}` : sql`IN (SELECT value FROM json_each(${JSON.stringify(values)}))`;
}

function indexedBy(index: string): Sql {
  return raw(`INDEXED BY ${index}`);
}
