import type { RunRef, StepResult } from '../../../ports/storage-runs.ts';
import { assertRunning } from '../../sql/run.ts';
import { type Connection, sql } from '../connection.ts';
import type { FileQueries } from '../queries.ts';
import { findTarget } from '../write/find.ts';
import { eraseCluster } from '../write/forget.ts';

/** Erases what has been kept long enough after it was evicted, and records as old. See `Storage.clearArchive`. */
export async function clearArchive(
  queries: FileQueries,
  run: RunRef,
  until: number,
  limit: number,
): Promise<StepResult> {
  const { connection } = queries;
  await assertRunning(queries, run);
  const count = eraseEvicted(connection, run.namespace, until, limit);
  const dropped = count < limit ? dropRecords(connection, run, until, limit - count) : 0;
  return { count: count + dropped, more: count + dropped >= limit };
}

function eraseEvicted(connection: Connection, namespace: string, until: number, limit: number): number {
  const evicted = sql(
    connection,
    'SELECT id FROM memory INDEXED BY memory_evicted WHERE namespace = ? AND evicted_at <= ? LIMIT ?',
  )
    .pluck()
    .all(namespace, until, limit) as string[];
  for (const id of evicted) {
    const target = findTarget(connection, namespace, id);
    // An earlier one of these may have been its twin.
    if (target) eraseCluster(connection, namespace, target, { keepsOwn: true });
  }
  return evicted.length;
}

/** Drops changes of old runs, oldest first, and each run with the last of its changes. */
function dropRecords(connection: Connection, { namespace, no }: RunRef, until: number, limit: number): number {
  let count = 0;
  while (count < limit) {
    const oldest = sql(
      connection,
      `SELECT no FROM sleep_run WHERE namespace = ? AND no < ? AND ended_at <= ? AND state <> 'undoing'
       ORDER BY no LIMIT 1`,
    )
      .pluck()
      .get(namespace, no, until) as number | undefined;
    if (oldest === undefined) break;
    const { changes } = sql(
      connection,
      `DELETE FROM sleep_change WHERE run = @oldest
         AND seq <= (SELECT max(seq) FROM (SELECT seq FROM sleep_change WHERE run = @oldest ORDER BY seq LIMIT @limit))`,
    ).run({ oldest, limit: limit - count });
    count += changes;
    if (count < limit) count += sql(connection, 'DELETE FROM sleep_run WHERE no = ?').run(oldest).changes;
  }
  return count;
}
