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
  for (const ordinal of expired) {
    leaveRecall(connection, namespace, ordinal);
    sql(connection, 'UPDATE memory SET evicted_at = ? WHERE ordinal = ?').run(now, ordinal);
  }
  return { count: expired.length, more: expired.length === limit };
}
