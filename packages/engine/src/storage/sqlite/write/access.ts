import { LIMITS } from '@memoryd/contract/limits';
import type { MemoryAccess } from '../../../ports/storage-memories.ts';
import { type Connection, sql } from '../connection.ts';

/** Adds to the access counts of memories that still exist. See `Storage.recordAccess`. */
export function recordAccess(connection: Connection, accesses: readonly MemoryAccess[]): void {
  for (const { ordinal, count, at } of accesses) addAccess(connection, ordinal, count, at);
}

/** Adds to a memory's access count, up to the most that is counted. */
export function addAccess(connection: Connection, ordinal: number, count: number, at: number): void {
  sql(
    connection,
    `INSERT INTO memory_access (namespace, ordinal, count, last_at)
       SELECT namespace, ordinal, @count, @at FROM memory WHERE ordinal = @ordinal
     ON CONFLICT DO UPDATE SET count = min(count + excluded.count, @most), last_at = max(last_at, excluded.last_at)`,
  ).run({ ordinal, count, at, most: LIMITS.counted });
}

/** Takes away uses that a memory gained, and their time where none was later. */
export function takeAccess(
  connection: Connection,
  ordinal: number,
  gained: { uses: number; lastUse: number | null; accessedAt: number | null },
): void {
  if (gained.uses === 0) return;
  sql(
    connection,
    `UPDATE memory_access SET count = count - @uses,
       last_at = CASE WHEN last_at = @lastUse THEN coalesce(@accessedAt, last_at) ELSE last_at END
     WHERE ordinal = @ordinal`,
  ).run({ ordinal, uses: gained.uses, lastUse: gained.lastUse, accessedAt: gained.accessedAt });
  sql(connection, 'DELETE FROM memory_access WHERE ordinal = ? AND count <= 0').run(ordinal);
}
