import { type Connection, sql } from '../connection.ts';

/** See `Storage.secret`. */
export function secret(connection: Connection): string {
  return sql(connection, "SELECT value FROM property WHERE name = 'secret'").pluck().get() as string;
}
