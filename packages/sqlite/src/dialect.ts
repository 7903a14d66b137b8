import { type Dialect, join, namespaceBeside, type Queries, raw, type Sql, sql, type Transaction } from '@memoryd/core';
import type Sqlite from 'better-sqlite3';
import { type Connection, statement as prepared } from './connection.ts';
import { assertMayWriteFile } from './migrate.ts';
import { requestPurge } from './page-gaps.ts';
import { addEntry, enterNew, relabel, removeEntry } from './recall-entry.ts';

/** `Queries` on a SQLite connection. Statements run synchronously, before the promise is returned. */
export interface FileQueries extends Queries {
  readonly connection: Connection;
}

export function toQueries(connection: Connection): FileQueries {
  return {
    connection,
    dialect: SQLITE,
    rows: async <Row>(statement: Sql) => prepare(connection, statement).all(...toParameters(statement)) as Row[],
    row: async <Row>(statement: Sql) =>
      prepare(connection, statement).get(...toParameters(statement)) as Row | undefined,
    run: async (statement) => prepare(connection, statement).run(...toParameters(statement)).changes,
    async insert(table, columns, rows, onConflict = raw('')) {
      const names = Object.keys(columns) as (keyof typeof columns)[];
      const values = names.map(() => '?').join(', ');
      const text = `INSERT INTO ${table} (${names.join(', ')}) VALUES (${values}) ${toText(onConflict)}`;
      const insert = prepared(connection, text);
      for (const row of rows) insert.run(...names.map((name) => row[name]), ...onConflict.values);
    },
    async insertMissing(table, columns, rows) {
      const names = Object.keys(columns) as (keyof typeof columns)[];
      const values = names.map(() => '?').join(', ');
      const insert = prepared(
        connection,
        `INSERT INTO ${table} (${names.join(', ')}) VALUES (${values}) ${IF_MISSING}`,
      );
      return rows.filter((row) => insert.run(...names.map((name) => row[name])).changes > 0);
    },
  };
}

const IF_MISSING = 'ON CONFLICT DO NOTHING';

/** Returns the rows of a query at once, for code that cannot wait. */
export function readRows<Row>(connection: Connection, query: Sql): Row[] {
  return prepare(connection, query).all(...toParameters(query)) as Row[];
}

/**
 * Returns the text of a statement. The unary plus changes no value. Without it, SQLite plans most statements again at each
 * run, because it looks at the values of parameters for their plans, and this takes ten times as long as the run itself.
 */
export function toText({ parts }: Sql): string {
  return parts.join('+?');
}

function prepare(connection: Connection, statement: Sql): Sqlite.Statement<unknown[]> {
  return prepared(connection, toText(statement));
}

function toParameters({ values }: Sql): unknown[] {
  return values.map((value) => (typeof value === 'boolean' ? Number(value) : value));
}

/** A write transaction on a file. */
export interface FileTransaction extends FileQueries, Transaction {}

/** Extends the queries of an open transaction with the operations of a write transaction. */
export function toTransaction(queries: FileQueries): FileTransaction {
  return {
    ...queries,
    recall: createRecallWriter(queries),
    async nextOrdinals(count) {
      const last = await queries.row<{ seq: number }>(sql`SELECT seq FROM sqlite_sequence WHERE name = 'memory'`);
      return Array.from({ length: count }, (_, i) => (last?.seq ?? 0) + 1 + i);
    },
  };
}

/** Runs work in a write transaction, and rolls back if the work throws. */
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

/**
 * Runs work in a savepoint, and rolls back to the savepoint if the work throws. If SQLite has already rolled back the
 * whole transaction, only rethrows.
 */
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

export const SQLITE: Dialect = {
  isIn: (column, values) => sql`${column} ${oneOf(values)}`,
  // The `+` prevents SQLite from using an index on the first condition, which would scan the whole namespace.
  isMemory: (column, namespace, ordinals) =>
    sql`+${namespaceBeside(column)} = ${namespace} AND ${raw(column)} ${oneOf(ordinals)}`,
  isAmong: (ordinals) => sql`m.ordinal IN (${ordinals})`,
  records(name, columns, values) {
    const names = Object.keys(columns);
    return sql`(${values.length <= MAX_BOUND_RECORDS ? selectBound(names, values) : selectFromJson(names, values)}) AS ${raw(name)}`;
  },
  isRecord(table, columns, values) {
    const getNames = (of: string) =>
      raw(
        Object.keys(columns)
          .map((column) => `${of}.${column}`)
          .join(', '),
      );
    return sql`(${getNames(table)}) IN (SELECT ${getNames('k')} FROM ${SQLITE.records('k', columns, values)})`;
  },
  ordinals: (name, values) =>
    sql`(SELECT value AS ordinal, key + 1 AS place FROM json_each(${JSON.stringify(values)})) AS ${raw(name)}`,
  // SQLite does not reorder the tables of a CROSS JOIN.
  joinMemory(name, key, index) {
    const conditions = Object.entries(key).map(([column, value]) => sql`${raw(`${name}.${column}`)} = ${value}`);
    const hint = index === undefined ? raw('') : indexedBy(index);
    return sql`CROSS JOIN memory ${raw(name)} ${hint} ON ${join(conditions, ' AND ')}`;
  },
  joinSelected(name, key, select) {
    const conditions = Object.entries(key).map(([column, value]) => sql`${raw(`${name}.${column}`)} = ${value}`);
    return sql`CROSS JOIN (${select(raw('true'))}) AS ${raw(name)} ON ${join(conditions, ' AND ')}`;
  },
  knownColumns: [],
  indexedBy,
  unindexed: (column) => sql`+${column}`,
  fence: raw(''),
  least: raw('min'),
  greatest: raw('max'),
  memoryKey: raw('(ordinal)'),
  linkKey: raw('(ordinal, successor, linked_at)'),
  countsWith: () => raw('true'),
  firstSlot: 0,
  forShare: raw(''),
  skipLocked: raw(''),
  metadataValue(path) {
    const at = toJsonPath(path);
    const type = sql`json_type(m.metadata, ${at})`;
    const value = sql`json_extract(m.metadata, ${at})`;
    const ofType = (types: string, expression: Sql) =>
      sql`(CASE WHEN ${type} IN (${raw(types)}) THEN ${expression} END)`;
    const elements = sql`json_each(m.metadata, ${at}) AS e`;
    return {
      exists: sql`${type} IS NOT NULL`,
      text: ofType(`'text'`, value),
      number: ofType(NUMBERS, value),
      toNumber,
      isIn: (values) => equalsOne(type, value, values),
      contains: (element) =>
        ofType(
          `'array'`,
          sql`EXISTS (SELECT 1 FROM ${elements} WHERE ${equalsOne(raw('e.type'), raw('e.value'), [element])})`,
        ),
    };
  },
  selectByWords({ whole, beginnings }) {
    const query = [...whole.map((word) => `"${word}"`), ...beginnings.map((word) => `"${word}" *`)].join(' AND ');
    return sql`SELECT rowid AS ordinal FROM word_index WHERE word_index MATCH ${query}`;
  },
  hasWords({ whole, beginnings }) {
    const quoted = [...whole.map((word) => `'${word}'`), ...beginnings.map((word) => `'${word}`)];
    return join(
      quoted.map((word) => sql`instr(w.words, ${word}) > 0`),
      ' AND ',
    );
  },
  tags: raw('(SELECT value FROM json_each(m.tags))'),
  joinTags: raw('LEFT JOIN json_each(m.tags) AS t ON true'),
  hasTag: (tags) => sql`EXISTS (SELECT 1 FROM json_each(m.tags) AS t WHERE t.value ${oneOf(tags)})`,
  metadataText: (field) => toScalarText(field, raw('NULL')),
  beginsWith: (text, characters) => sql`${text} GLOB ${`${characters.map(toGlob).join('')}*`}`,
  hasMetadata: (field, value) => sql`${toScalarText(field, raw("'null'"))} = ${value}`,
  jsonField: (column, field) => sql`(${column} ->> ${field})`,
  jsonArray: (value, order) => sql`json_group_array(${value} ORDER BY ${order})`,
  jsonObject: (key, value) => sql`json_group_object(${key}, ${value})`,
};

/**
 * Returns the text of a scalar in a field of the metadata of `memory m`; SQL null for another value.
 *
 * @param ofNull the result for the value null
 */
function toScalarText(field: string, ofNull: Sql): Sql {
  const at = toJsonPath([field]);
  return sql`CASE json_type(m.metadata, ${at}) WHEN 'text' THEN json_extract(m.metadata, ${at})
    WHEN 'array' THEN NULL WHEN 'object' THEN NULL WHEN 'null' THEN ${ofNull} ELSE m.metadata -> ${at} END`;
}

/** Returns the GLOB pattern of one character. Alternatives are cases of a letter, which have no meaning in brackets. */
function toGlob(alternatives: readonly string[]): string {
  const [only = ''] = alternatives;
  return alternatives.length > 1 || '*?['.includes(only) ? `[${alternatives.join('')}]` : only;
}

/** Returns the path of SQLite to a value in nested objects. */
export function toJsonPath(keys: readonly string[]): string {
  return `$.${keys.map((key) => JSON.stringify(key)).join('.')}`;
}

/** The names of the types of numbers in `json_type`. */
const NUMBERS = `'integer', 'real'`;

/** Reads a number from its digits, as SQLite reads the numbers in JSON. */
function toNumber(value: number): Sql {
  return sql`CAST(${JSON.stringify(value)} AS numeric)`;
}

/** Returns a condition: a value of JSON and its `json_type` equal one of `scalars`. */
function equalsOne(type: Sql, value: Sql, scalars: readonly (string | number | boolean | null)[]): Sql {
  const texts = scalars.filter((scalar) => typeof scalar === 'string');
  const numbers = scalars.filter((scalar) => typeof scalar === 'number');
  const literals = scalars.filter((scalar) => typeof scalar === 'boolean' || scalar === null).map(String);
  const conditions = [
    ...(texts.length > 0 ? [sql`${type} = 'text' AND ${value} ${oneOf(texts)}`] : []),
    ...(numbers.length > 0
      ? [sql`${type} IN (${raw(NUMBERS)}) AND ${value} IN (${join(numbers.map(toNumber), ', ')})`]
      : []),
    ...(literals.length > 0 ? [sql`${type} ${oneOf(literals)}`] : []),
  ];
  return sql`(${join(conditions, ' OR ')})`;
}

/**
 * Maximum records that are bound as parameters. For so few records, parsing a JSON table takes longer than the rest of
 * the statement.
 */
const MAX_BOUND_RECORDS = 4;

function selectBound(columns: readonly string[], values: readonly object[]): Sql {
  if (values.length === 0) return selectFromJson(columns, values);
  const rows = values.map((value) => {
    const selected = columns.map((column) => sql`${value[column as keyof typeof value]} AS ${raw(`"${column}"`)}`);
    return sql`SELECT ${join(selected, ', ')}`;
  });
  return join(rows, ' UNION ALL ');
}

function selectFromJson(columns: readonly string[], values: readonly object[]): Sql {
  const selected = columns.map((column) => raw(`value ->> '${column}' AS "${column}"`));
  return sql`SELECT ${join(selected, ', ')} FROM json_each(${JSON.stringify(values)})`;
}

function oneOf(values: readonly unknown[]): Sql {
  return values.length === 1 ? sql`= ${values[0]}` : sql`IN (SELECT value FROM json_each(${JSON.stringify(values)}))`;
}

function indexedBy(index: string): Sql {
  return raw(`INDEXED BY ${index}`);
}

function createRecallWriter(queries: FileQueries): Transaction['recall'] {
  const { connection } = queries;
  return {
    enterNew: async (memories) => enterNew(connection, memories),
    enter: async (_namespace, ordinal) => addEntry(connection, ordinal),
    async relabel(_namespace, ordinals) {
      for (const ordinal of ordinals) relabel(connection, ordinal);
    },
    async remove(namespace, ordinals) {
      for (const ordinal of ordinals) removeEntry(connection, namespace, ordinal);
    },
    noteErased: async () => requestPurge(connection),
  };
}
