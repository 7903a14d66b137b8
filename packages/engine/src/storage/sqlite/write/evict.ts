import type { StepResult } from '../../../ports/storage.ts';
import { type Connection, sql } from '../connection.ts';
import { leaveRecall } from '../recall-entry.ts';

/** Takes expired memories out of the tiers and their indexes; rows and texts stay. See `Storage.evictExpired`. */
export function evictExpired(connection: Connection, namespace: string, now: number, limit: number): StepResult {
  const expired = sql(
    connection,
    `SELECT ordinal FROM memory INDEXED BY memory_expiring
     WHERE namespace = ? AND expires_at <= ? AND merged_into IS NULL AND evicted_at IS NULL LIMIT ?`,
  )
    .pluck()
    .all(namespace, now, limit) as number[];
  return { count: evict(connection, namespace, expired, now), more: expired.length === limit };
}

/** Takes memories out of the tiers and their indexes, as far as they are in. See `Storage.evict`. */
export function evict(connection: Connection, namespace: string, ordinals: readonly number[], at: number): number {
  const leave = sql(
    connection,
    `UPDATE memory SET evicted_at = ?
     WHERE ordinal = ? AND namespace = ? AND merged_into IS NULL AND evicted_at IS NULL`,
  );
  let count = 0;
  for (const ordinal of ordinals) {
    if (leave.run(at, ordinal, namespace).changes === 0) continue;
    leaveRecall(connection, namespace, ordinal);
    count++;
  }
  return count;
}
