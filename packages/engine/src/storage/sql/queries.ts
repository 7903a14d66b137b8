import type { Tier } from '@memoryd/contract';
import type { Recallable } from '../recall-words.ts';
import { raw, type Sql, sql } from './sql.ts';

/**
 * Runs statements on a database. Rows are objects by column name. Integers are numbers, since all are below 2^53. A
 * condition in a result is a boolean on PostgreSQL, and 0 or 1 on SQLite.
 */
export interface Queries {
  readonly dialect: Dialect;
  rows<Row>(statement: Sql): Promise<Row[]>;
  row<Row>(statement: Sql): Promise<Row | undefined>;
  /** Returns how many rows it changed. */
  run(statement: Sql): Promise<number>;
  /** Inserts rows, any number of them. `onConflict` follows the values. */
  insert<Column extends string>(
    table: string,
    columns: Readonly<Record<Column, ColumnType>>,
    rows: readonly Readonly<Record<NoInfer<Column>, unknown>>[],
    onConflict?: Sql,
  ): Promise<void>;
}

/** How a value comes in a statement. `bytea` is a Buffer. */
export type ColumnType = 'integer' | 'bigint' | 'double precision' | 'boolean' | 'text' | 'bytea';

/** Returns how many rows there are: `rows` is what follows FROM. */
export async function count(queries: Queries, rows: Sql): Promise<number> {
  const counted = await queries.row<{ count: number }>(sql`SELECT count(*) AS count FROM ${rows}`);
  return counted?.count ?? 0;
}

/** Inside a transaction that writes. */
export interface Transaction extends Queries {
  readonly recall: RecallWriter;
  /** Returns ordinals for new memories, ascending, that no memory has had. */
  nextOrdinals(count: number): Promise<number[]>;
}

/** What recall finds a memory by, once it has its row. */
export interface RecallEntry extends Recallable {
  ordinal: number;
  tier: Tier;
  /** See `NewRow`. */
  entry?: Uint8Array;
}

/** What a database keeps so that recall finds memories: the entries of an index, or postings and vectors. */
export interface RecallWriter {
  /**
   * Enters memories that have just got their rows: words at once, vectors once they are embedded.
   *
   * @param vectors whether a client waits for the vectors, so that its own process makes them
   */
  enterNew(memories: readonly RecallEntry[], vectors: 'waited for' | 'not waited for'): Promise<void>;
  /** Enters a memory that is in a tier again, with the text that it has now. */
  enter(namespace: string, ordinal: number): Promise<void>;
  /** Enters the labels that a memory has now, if recall finds it at all. */
  relabel(namespace: string, ordinal: number): Promise<void>;
  /** Removes memories, with their words and vectors. */
  remove(namespace: string, ordinals: readonly number[]): Promise<void>;
  /** Notes that texts were deleted, so that none of their bytes stay. */
  noteErased(): Promise<void>;
}

/** The parts of statements that PostgreSQL and SQLite write differently. */
export interface Dialect {
  /** Returns a condition: a column has one of some texts. */
  isIn(column: Sql, values: readonly string[]): Sql;
  /** Returns a condition: a column, whose table has the column `namespace` too, names one of some memories. */
  isMemory(
    column: 'ordinal' | 'm.ordinal' | 'source' | 'semantic',
    namespace: string,
    ordinals: readonly number[],
  ): Sql;
  /** Returns a table of records with a column for each name, of a type. Rows may come in any order. */
  records(
    name: string,
    columns: Readonly<Record<string, 'integer' | 'bigint' | 'text'>>,
    values: readonly object[],
  ): Sql;
  /** Returns a table of numbers: its columns are `ordinal` and `place`, which counts from 1. */
  ordinals(name: string, values: readonly number[]): Sql;
  /**
   * Returns a join of `memory` under a name, looked up by the values of some of its columns, for each row before it.
   * Both planners know too little of the table to find that order by themselves. ` AND …` may follow.
   *
   * @param index the index of SQLite that has those columns; none where they are the primary key
   */
  joinMemory(name: string, key: Readonly<Record<string, Sql>>, index?: string): Sql;
  /** Returns a hint after a table's name: SQLite, which keeps no statistics, has to use this index. */
  indexedBy(index: string): Sql;
  /** Returns a column by which SQLite looks nothing up, so that it begins with another condition. */
  unindexed(column: Sql): Sql;
  /** The functions that return the least and the greatest of two values or more, none of which is null. */
  readonly least: Sql;
  readonly greatest: Sql;
  /** The key of a table whose rows belong to a memory each, as an upsert names it. */
  readonly memoryKey: Sql;
  /** Returns a field of JSON in a column, as text. */
  jsonField(column: Sql, field: string): Sql;
  /** Returns a condition: the ordinal of a memory counts in one row with those of a namespace. In a file all do. */
  countsWith(namespace: string): Sql;
  /** A suffix of a query: rows that others are about to change are passed over. */
  readonly skipLocked: Sql;
  /** A suffix of a query: its rows stay as they are until the transaction ends. */
  readonly forShare: Sql;
  /** Returns the values of an expression as a JSON array in text, in an order; `[]` for none. */
  jsonArray(value: Sql, order: Sql): Sql;
  /** Returns the values of an expression as a JSON object in text, by those of another; `{}` for none. */
  jsonObject(key: Sql, value: Sql): Sql;
}

/** Returns the column for the namespace in the table of another column. */
export function namespaceBeside(column: string): Sql {
  return raw(column.startsWith('m.') ? 'm.namespace' : 'namespace');
}
