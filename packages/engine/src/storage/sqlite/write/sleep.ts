import type { SleepRun } from '../../../ports/storage.ts';
import { type Connection, sql } from '../connection.ts';

export function recordSleep(connection: Connection, namespace: string, run: SleepRun): void {
  sql(
    connection,
    `INSERT INTO sleep_run (namespace, started_at, ended_at, consolidated_count, evicted_count) VALUES (?, ?, ?, ?, ?)`,
  ).run(namespace, run.startedAt, run.endedAt, run.consolidatedCount, run.evictedCount);
}

export function dropIdempotencyKeys(connection: Connection, usedBefore: number): void {
  sql(connection, 'DELETE FROM idempotency_key WHERE used_at < ?').run(usedBefore);
}
