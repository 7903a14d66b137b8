import type Sqlite from 'better-sqlite3';
import type { Queries } from '../sql/queries.ts';
import { raw, type Sql } from '../sql/sql.ts';
import { type Connection, statement as prepared } from './connection.ts';
import { SQLITE } from './dialect.ts';

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
