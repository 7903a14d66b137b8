import type { Dialect } from './dialect.ts';
import { type Sql, sql } from './sql.ts';

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
