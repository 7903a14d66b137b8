import type { ChangeDetails, RunRef, StepResult } from '../../../ports/storage.ts';
import { type Connection, sql } from '../connection.ts';
import { leaveRecall } from '../recall-entry.ts';
import { assertRunning, recordChange } from './run.ts';

/** Takes expired memories out of the tiers and their indexes; rows and texts stay. See `Storage.evictExpired`. */
export function evictExpired(connection: Connection, run: RunRef, now: number, limit: number): StepResult {
  assertRunning(connection, run);
  const expired = sql(
    connection,
    `SELECT ordinal FROM memory INDEXED BY memory_expiring
     WHERE namespace = ? AND expires_at <= ? AND merged_into IS NULL AND evicted_at IS NULL LIMIT ?`,
  )
    .pluck()
    .all(run.namespace, now, limit) as number[];
  for (const ordinal of expired) evict(connection, run, ordinal, 'expired', now);
  return { count: expired.length, more: expired.length === limit };
}

function evict(
  connection: Connection,
  run: RunRef,
  ordinal: number,
  reason: ChangeDetails['evicted']['reason'],
  at: number,
): void {
  leaveRecall(connection, run.namespace, ordinal);
  sql(connection, 'UPDATE memory SET evicted_at = ? WHERE ordinal = ?').run(at, ordinal);
  recordChange(connection, run, { kind: 'evicted', ordinal, detail: { reason } });
}
