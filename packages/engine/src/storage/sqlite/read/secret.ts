import { DamagedDatabase } from '../../damage.ts';
import { type Connection, sql } from '../connection.ts';

/** See `Storage.secret`. */
export function secret(connection: Connection): string {
  const value = sql(connection, "SELECT value FROM property WHERE name = 'secret'").pluck().get();
  if (typeof value !== 'string') throw new DamagedDatabase('the secret that seals cursors is not there');
  return value;
}
