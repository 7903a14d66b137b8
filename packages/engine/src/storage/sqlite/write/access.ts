import { type Connection, sql } from '../connection.ts';

/** Adds to the access counts of memories that still exist. See `Storage.recordAccess`. */
export function recordAccess(
  connection: Connection,
  accesses: readonly { ordinal: number; count: number; at: number }[],
): void {
  for (const { ordinal, count, at } of accesses) addAccess(connection, ordinal, count, at);
}

/** Adds to a memory's access count. */
export function addAccess(connection: Connection, ordinal: number, count: number, at: number): void {
  sql(
    connection,
    `INSERT INTO memory_access (ordinal, count, last_at) SELECT @ordinal, @count, @at
       WHERE EXISTS (SELECT 1 FROM memory WHERE ordinal = @ordinal)
     ON CONFLICT DO UPDATE SET count = count + excluded.count, last_at = max(last_at, excluded.last_at)`,
  ).run({ ordinal, count, at });
}
