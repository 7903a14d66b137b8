import type Sqlite from 'better-sqlite3';

/** A connection to a database file. */
export type Connection = Sqlite.Database;

const prepared = new WeakMap<Connection, Map<string, Sqlite.Statement<unknown[]>>>();

/**
 * Most statements that are kept prepared for one connection. Filters make statements of several shapes, in number
 * bounded by the conditions that a filter has.
 */
const PREPARED_LIMIT = 512;

/** A statement of a connection, prepared at its first use. */
export function sql(connection: Connection, text: string): Sqlite.Statement<unknown[]> {
  let statements = prepared.get(connection);
  if (!statements) prepared.set(connection, (statements = new Map()));
  let statement = statements.get(text);
  if (!statement) {
    if (statements.size >= PREPARED_LIMIT) statements.clear();
    statements.set(text, (statement = connection.prepare(text)));
  }
  return statement;
}
