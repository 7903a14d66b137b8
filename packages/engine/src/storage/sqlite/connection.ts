import type Sqlite from 'better-sqlite3';

/** A connection to a database file. */
export type Connection = Sqlite.Database;

/**
 * The most statements that are kept prepared for one connection. Filters make statements of several shapes, in number
 * bounded by the conditions that a filter has.
 */
const PREPARED_LIMIT = 512;

/** Returns a function that prepares a statement of a connection at its first use. */
function statementCache(): (connection: Connection, text: string) => Sqlite.Statement<unknown[]> {
  const prepared = new WeakMap<Connection, Map<string, Sqlite.Statement<unknown[]>>>();
  return (connection, text) => {
    let statements = prepared.get(connection);
    if (!statements) prepared.set(connection, (statements = new Map()));
    let statement = statements.get(text);
    if (!statement) {
      if (statements.size >= PREPARED_LIMIT) statements.clear();
      statements.set(text, (statement = connection.prepare(text)));
    }
    return statement;
  };
}

/** A statement of a connection, whose caller says in which form rows come. */
export const sql = statementCache();

/** A statement of a connection whose rows are objects. Apart from `sql`, where the form of a row stays with a statement. */
export const statement = statementCache();
