import { MODEL_IN_USE, type ModelInUse } from '@memoryd/core';
import type Sqlite from 'better-sqlite3';

/** A connection to a database file. */
export type Connection = Sqlite.Database;

/**
 * Maximum cached statements per connection. At this limit, the cache is cleared. Each combination of filter conditions
 * needs a statement of its own.
 */
const MAX_PREPARED = 512;

/** Returns a function that prepares a statement at its first use and caches it per connection. */
function createStatementCache(): (connection: Connection, text: string) => Sqlite.Statement<unknown[]> {
  const prepared = new WeakMap<Connection, Map<string, Sqlite.Statement<unknown[]>>>();
  return (connection, text) => {
    let statements = prepared.get(connection);
    if (!statements) prepared.set(connection, (statements = new Map()));
    let statement = statements.get(text);
    if (!statement) {
      if (statements.size >= MAX_PREPARED) statements.clear();
      statements.set(text, (statement = connection.prepare(text)));
    }
    return statement;
  };
}

/** Returns a cached statement. The caller sets its row format (`pluck`, `raw`). */
export const sql = createStatementCache();

/**
 * Returns a cached statement with object rows. The cache is separate, because statements of `sql` retain their row
 * format.
 */
export const statement = createStatementCache();

/** Returns the model in use, or undefined if no model was ever used. */
export function modelInUse(connection: Connection): ModelInUse | undefined {
  return sql(connection, MODEL_IN_USE).get() as ModelInUse | undefined;
}

/** Returns the value of a property of the file, or undefined if the property is not set. */
export function readProperty(connection: Connection, name: string): string | undefined {
  return sql(connection, 'SELECT value FROM property WHERE name = ?').pluck().get(name) as string | undefined;
}

export function writeProperty(connection: Connection, name: string, value: string): void {
  sql(connection, 'INSERT INTO property VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value').run(
    name,
    value,
  );
}

/** Returns the dimensions of each model that has produced a vector, by model number. */
export function dimensionsByModel(connection: Connection): Map<number, number> {
  const models = sql(connection, 'SELECT no, dimensions FROM embedding_model WHERE dimensions IS NOT NULL').raw().all();
  return new Map(models as [number, number][]);
}

/** Runs reads in one snapshot of the file. */
export async function snapshot<T>(connection: Connection, read: () => T | Promise<T>): Promise<T> {
  statement(connection, 'BEGIN').run();
  try {
    return await read();
  } finally {
    // SQLite rejects a commit after reading a corrupted page, even if nothing was written.
    if (connection.inTransaction) statement(connection, 'ROLLBACK').run();
  }
}
