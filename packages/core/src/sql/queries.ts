import type { Tier } from '@memoryd/contract';
import type { ListWords, Recallable } from '@memoryd/search';
import { raw, type Sql, sql } from './sql.ts';

/**
 * Runs statements on a database. Rows are objects keyed by column name. Integers are returned as numbers, because all
 * are below 2^53. A condition in a SELECT list is a boolean on PostgreSQL, and 0 or 1 on SQLite.
 */
export interface Queries {
  readonly dialect: Dialect;
  rows<Row>(statement: Sql): Promise<Row[]>;
  row<Row>(statement: Sql): Promise<Row | undefined>;
  /** Returns the number of changed rows. */
  run(statement: Sql): Promise<number>;
  /** Inserts any number of rows. `onConflict` is appended after the values. */
  insert<Column extends string>(
    table: string,
    columns: Readonly<Record<Column, ColumnType>>,
    rows: readonly Readonly<Record<NoInfer<Column>, unknown>>[],
    onConflict?: Sql,
  ): Promise<void>;
  /** Inserts the rows whose key does not exist yet, and returns them. */
  insertMissing<Column extends string>(
    table: string,
    columns: Readonly<Record<Column, ColumnType>>,
    rows: readonly Readonly<Record<NoInfer<Column>, unknown>>[],
  ): Promise<Record<Column, unknown>[]>;
}

/** The SQL type of a value. A `bytea` value is a Buffer. */
type ColumnType = 'integer' | 'bigint' | 'double precision' | 'boolean' | 'text' | 'bytea' | 'tsvector';

/** Returns the number of rows. `rows` is the part of the statement after FROM. */
export async function count(queries: Queries, rows: Sql): Promise<number> {
  const counted = await queries.row<{ count: number }>(sql`SELECT count(*) AS count FROM ${rows}`);
  return counted?.count ?? 0;
}

/** Queries inside a write transaction. */
export interface Transaction extends Queries {
  readonly recall: RecallWriter;
  /** Returns ascending ordinals for new memories. Ordinals are never reused. */
  nextOrdinals(count: number): Promise<number[]>;
}

/** The fields of a stored memory from which its index entry is built. */
interface RecallEntry extends Recallable {
  ordinal: number;
  tier: Tier;
  /** See `NewRow`. */
  entry?: Uint8Array;
}

/** Writes the index entries that recall searches. */
interface RecallWriter {
  /**
   * Indexes newly stored memories: terms immediately, vectors once they are embedded.
   *
   * @param vectors `waited for` if a client waits for the vectors. In a shared database, the vectors are then computed
   * by the process that stored the memories
   */
  enterNew(memories: readonly RecallEntry[], vectors: 'waited for' | 'not waited for'): Promise<void>;
  /** Indexes the current text of a stored memory, such as after an update or an undo. */
  enter(namespace: string, ordinal: number): Promise<void>;
  /**
   * Updates the index entries of memories, except the vectors, after a change of fields other than the text. No effect on
   * memories without an index entry.
   */
  relabel(namespace: string, ordinals: readonly number[]): Promise<void>;
  /**
   * Removes the index entries of memories, and removes the memories from the queues for consolidation and embedding.
   */
  remove(namespace: string, ordinals: readonly number[]): Promise<void>;
  /** Requests a purge of the bytes of deleted texts. */
  noteErased(): Promise<void>;
}

/** A value of JSON other than an array or an object. */
type Scalar = string | number | boolean | null;

/** Expressions for a value in JSON. `text` and `number` are null if the value is of another type. */
interface JsonValue {
  /** Condition: there is a value, which may be null. */
  exists: Sql;
  /** Compares by code point. */
  text: Sql;
  /** Compares with the result of `toNumber`. */
  number: Sql;
  toNumber(value: number): Sql;
  /** Returns a condition: the value equals one of `values`, and has the same type. */
  isIn(values: readonly Scalar[]): Sql;
  /** Returns a condition: the value is an array that contains an element. */
  contains(element: Scalar): Sql;
}

/** The columns of a table of records, and their types. */
type RecordColumns = Readonly<Record<string, 'integer' | 'bigint' | 'double precision' | 'text'>>;

/** The parts of statements that PostgreSQL and SQLite write differently. */
export interface Dialect {
  /** Returns a condition: the value of the column is one of `values`. */
  isIn(column: Sql, values: readonly string[]): Sql;
  /**
   * Returns a condition: the column contains one of the ordinals. The table of the column must have a column
   * `namespace`.
   */
  isMemory(
    column: 'ordinal' | 'm.ordinal' | 'source' | 'semantic' | 'successor' | 'earlier' | 'later',
    namespace: string,
    ordinals: readonly number[],
  ): Sql;
  /**
   * Returns a condition: `memory m` has one of the ordinals that a query returns. The query is run first, even if the
   * planner expects few memories of the namespace because it has no statistics.
   */
  isAmong(ordinals: Sql): Sql;
  /** Returns a table of records with typed columns. The row order is undefined. */
  records(name: string, columns: RecordColumns, values: readonly object[]): Sql;
  /**
   * Returns a condition: the row of a table is one of the records, whose columns are the primary key of the table. Each is
   * looked up by its key, because without statistics PostgreSQL would read the whole table.
   */
  isRecord(table: string, columns: RecordColumns, values: readonly object[]): Sql;
  /** Returns a table of `values` with the columns `ordinal` and `place`. Places start at 1. */
  ordinals(name: string, values: readonly number[]): Sql;
  /**
   * Returns a join of `memory` under an alias, looked up by key for each preceding row. The join order is forced,
   * because neither planner has the table statistics to choose it. The caller may append ` AND …`.
   *
   * @param index the SQLite index of the key columns; omitted if they are the primary key
   */
  joinMemory(name: string, key: Readonly<Record<string, Sql>>, index?: string): Sql;
  /**
   * Returns a join of a query under an alias, looked up by key for each preceding row. See `joinMemory`.
   *
   * @param select returns the query for the rows of `memory k` that meet a condition
   */
  joinSelected(name: string, key: Readonly<Record<string, Sql>>, select: (condition: Sql) => Sql): Sql;
  /** The columns of `memory` that follow from other columns, in a query of `selectKnown`. */
  readonly knownColumns: readonly Sql[];
  /** The columns of the primary key of `succession`. */
  linkKey: Sql;
  /** Returns a hint to append to a table name, so that SQLite, which has no table statistics, uses this index. */
  indexedBy(index: string): Sql;
  /**
   * Returns a column expression that SQLite cannot look up in an index, so that SQLite uses the index of another
   * condition.
   */
  unindexed(column: Sql): Sql;
  /**
   * Suffix of a subquery that PostgreSQL must run for each row of the statement. Without statistics, PostgreSQL would
   * read all rows that meet the other conditions of the subquery. Empty in SQLite.
   */
  readonly fence: Sql;
  /** The functions for the least and the greatest of two or more non-null values. */
  readonly least: Sql;
  readonly greatest: Sql;
  /** The columns of the primary key of a table with one row per memory, as a conflict target. */
  readonly memoryKey: Sql;
  /**
   * The slot of the row that every counted user and session has. On PostgreSQL, no connection adds to this slot, so an
   * insert that only checks for the row never waits for another connection's count.
   */
  readonly firstSlot: number;
  /** Returns the value in the metadata of `memory m` at a path of object keys, which never go into arrays. */
  metadataValue(path: readonly string[]): JsonValue;
  /** Returns a query for the ordinals of the memories with all of these words. See `memory_words` in the schema. */
  selectByWords(words: ListWords): Sql;
  /** Returns a condition on `memory_words w`: all of these words are there. */
  hasWords(words: ListWords): Sql;
  /** Subquery for the tags of `memory m`, as the column `value`. Tags compare by code point. */
  readonly tags: Sql;
  /** Outer join of the tags of `m`, as `t.value`, which is null without tags. Tags compare by code point. */
  readonly joinTags: Sql;
  /** Returns a condition: `memory m` has one of the tags. */
  hasTag(tags: readonly string[]): Sql;
  /** Returns the text of a scalar in a field of the metadata of `memory m`; SQL null for another value, and for null. */
  metadataText(field: string): Sql;
  /** Returns a condition: a text begins with characters, each one of the alternatives for its position. */
  beginsWith(text: Sql, characters: readonly (readonly string[])[]): Sql;
  /** Returns a condition on `memory m`: a field of the metadata is a scalar with this text. See `getAttributes`. */
  hasMetadata(field: string, value: string): Sql;
  /** Returns a field of a JSON column, as text. */
  jsonField(column: Sql, field: string): Sql;
  /**
   * Returns a condition for reading the maximum ordinal from the primary key of `memory`: limits the query to the
   * namespace in PostgreSQL, where the key is (namespace, ordinal); always true in SQLite, where the key is the
   * ordinal.
   */
  countsWith(namespace: string): Sql;
  /**
   * Query suffix that locks the rows, and skips rows locked by other transactions. Empty in SQLite, which has one
   * writer. As a part of a statement, such a query must be materialized: PostgreSQL may run a subquery for each row, and
   * its LIMIT would then hold for each row.
   */
  readonly skipLocked: Sql;
  /** Query suffix that locks the rows against changes until the transaction ends. Empty in SQLite. */
  readonly forShare: Sql;
  /** Returns the ordered values of an expression as JSON array text; `[]` if there are no rows. */
  jsonArray(value: Sql, order: Sql): Sql;
  /** Returns key and value expressions as JSON object text; `{}` if there are no rows. */
  jsonObject(key: Sql, value: Sql): Sql;
}

/** Returns the memories with these ordinals, each looked up by its key, for FROM, as `memory m`. */
export function fromOrdinals(dialect: Dialect, namespace: string, ordinals: readonly number[]): Sql {
  const memory = dialect.joinMemory('m', { namespace: sql`${namespace}`, ordinal: raw('named.ordinal') });
  return sql`${dialect.ordinals('named', ordinals)} ${memory}`;
}

/** Returns the namespace column of the table that contains `column`. */
export function namespaceBeside(column: string): Sql {
  return raw(column.startsWith('m.') ? 'm.namespace' : 'namespace');
}
