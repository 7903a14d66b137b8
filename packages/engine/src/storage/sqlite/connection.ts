import type Sqlite from 'better-sqlite3';
import { MODEL_IN_USE, type ModelInUse } from '../sql/database-marks.ts';

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

/** The model in use, once there has been one. */
export function modelInUse(connection: Connection): ModelInUse | undefined {
  return sql(connection, MODEL_IN_USE).get() as ModelInUse | undefined;
}

/** Returns what is noted of the file under a name; undefined where nothing is. */
export function readProperty(connection: Connection, name: string): string | undefined {
  return sql(connection, 'SELECT value FROM property WHERE name = ?').pluck().get(name) as string | undefined;
}

/** Notes something in place of what was noted under a name. */
export function writeProperty(connection: Connection, name: string, value: string): void {
  sql(connection, 'INSERT INTO property VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value').run(
    name,
    value,
  );
}

/** The dimensions of every model that has made a vector. */
export function dimensionsByModel(connection: Connection): Map<number, number> {
  const models = sql(connection, 'SELECT no, dimensions FROM embedding_model WHERE dimensions IS NOT NULL').raw().all();
  return new Map(models as [number, number][]);
}
