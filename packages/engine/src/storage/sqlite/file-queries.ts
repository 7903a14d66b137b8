import type Sqlite from 'better-sqlite3';
import { type Dialect, namespaceBeside, type Queries, type RecallWriter, type Transaction } from '../sql/queries.ts';
import { join, raw, type Sql, sql } from '../sql/sql.ts';
import { type Connection, statement as prepared } from './connection.ts';
import { assertMayWriteFile } from './migrate-file.ts';
import { enterNew, enterRecall, leaveRecall, relabel } from './recall-entry.ts';
import { askForPurge } from './residue.ts';

/** `Queries` on a connection to a file. Each is done when it returns: its promise takes no turn of the event loop. */
export interface FileQueries extends Queries {
  readonly connection: Connection;
}

export function toQueries(connection: Connection): FileQueries {
  return {
    connection,
    dialect: SQLITE,
    rows: async <Row>(statement: Sql) => prepare(connection, statement).all(...bound(statement)) as Row[],
    row: async <Row>(statement: Sql) => prepare(connection, statement).get(...bound(statement)) as Row | undefined,
    run: async (statement) => prepare(connection, statement).run(...bound(statement)).changes,
    async insert(table, columns, rows, onConflict = raw('')) {
      const names = Object.keys(columns) as (keyof typeof columns)[];
      const values = names.map(() => '?').join(', ');
      const text = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${values}) ${onConflict.parts.join('?')}`;
      const insert = prepared(connection, text);
      for (const row of rows) insert.run(...names.map((name) => row[name]), ...onConflict.values);
    },
  };
}

function prepare(connection: Connection, { parts }: Sql): Sqlite.Statement<unknown[]> {
  return prepared(connection, parts.join('?'));
}

function bound({ values }: Sql): unknown[] {
  return values.map((value) => (typeof value === 'boolean' ? Number(value) : value));
}

/** Does reads that see the file as it is at one moment. */
export async function snapshot<T>(connection: Connection, read: (queries: FileQueries) => Promise<T>): Promise<T> {
  prepared(connection, 'BEGIN').run();
  try {
    return await read(toQueries(connection));
  } finally {
    // Of a damaged file, not even a transaction that wrote nothing can be committed.
    if (connection.inTransaction) prepared(connection, 'ROLLBACK').run();
  }
}

/** Inside a transaction that writes a file. */
export interface FileTransaction extends FileQueries, Transaction {}

/** Returns queries of a connection that is in a transaction with what writes need. */
export function toTransaction(queries: FileQueries): FileTransaction {
  return {
    ...queries,
    recall: recallWriter(queries),
    async nextOrdinals(count) {
      const last = await queries.row<{ seq: number }>(sql`SELECT seq FROM sqlite_sequence WHERE name = 'memory'`);
      return Array.from({ length: count }, (_, i) => (last?.seq ?? 0) + 1 + i);
    },
  };
}

/** Does work in a transaction that writes, all of it or none. */
export async function transaction<T>(
  connection: Connection,
  work: (transaction: FileTransaction) => Promise<T>,
): Promise<T> {
  const queries = toQueries(connection);
  prepared(connection, 'BEGIN IMMEDIATE').run();
  try {
    assertMayWriteFile(connection);
    const result = await work(toTransaction(queries));
    prepared(connection, 'COMMIT').run();
    return result;
  } catch (error) {
    if (connection.inTransaction) prepared(connection, 'ROLLBACK').run();
    throw error;
  }
}

/** Does work inside a transaction, all of it or none. Where SQLite has given up the whole transaction, so it stays. */
export async function savepoint<T>({ connection }: FileQueries, work: () => Promise<T>): Promise<T> {
  prepared(connection, 'SAVEPOINT work').run();
  try {
    const result = await work();
    prepared(connection, 'RELEASE work').run();
    return result;
  } catch (error) {
    if (connection.inTransaction) {
      prepared(connection, 'ROLLBACK TO work').run();
      prepared(connection, 'RELEASE work').run();
    }
    throw error;
  }
}

const SQLITE: Dialect = {
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
  countsWith: () => raw('true'),
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

function recallWriter(queries: FileQueries): RecallWriter {
  const { connection } = queries;
  return {
    enterNew: async (memories) => enterNew(connection, memories),
    enter: async (_namespace, ordinal) => enterRecall(connection, ordinal),
    relabel: async (_namespace, ordinal) => relabel(connection, ordinal),
    async remove(namespace, ordinals) {
      for (const ordinal of ordinals) leaveRecall(connection, namespace, ordinal);
    },
    noteErased: async () => askForPurge(connection),
  };
}
