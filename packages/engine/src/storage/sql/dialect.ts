import { raw, type Sql } from './sql.ts';

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
