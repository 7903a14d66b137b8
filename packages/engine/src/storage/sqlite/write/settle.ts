import type { RunRef, StepResult } from '../../../ports/storage.ts';
import { type Connection, sql } from '../connection.ts';
import { assertRunning } from './run.ts';

const OLDEST_WORKING = `SELECT ordinal FROM memory
  WHERE namespace = @namespace AND tier = 'working' AND merged_into IS NULL AND evicted_at IS NULL
    AND stored_at <= @storedUntil
  ORDER BY stored_at, ordinal LIMIT @limit`;

/** Moves the oldest working memories to the episodic tier. See `Storage.settle`. */
export function settle(connection: Connection, run: RunRef, storedUntil: number, limit: number): StepResult {
  assertRunning(connection, run);
  const oldest = { namespace: run.namespace, storedUntil, limit };
  // First, since after the update they are no longer found.
  sql(
    connection,
    `INSERT INTO sleep_change (run, seq, kind, ordinal, detail)
     SELECT @no, row_number() OVER () + coalesce((SELECT max(seq) FROM sleep_change WHERE run = @no), 0),
       'settled', ordinal, '{}'
     FROM (${OLDEST_WORKING})`,
  ).run({ ...oldest, no: run.no });
  const count = settleOldest(connection, oldest);
  return { count, more: count === limit };
}

function settleOldest(
  connection: Connection,
  oldest: { namespace: string; storedUntil: number; limit: number },
): number {
  return sql(connection, `UPDATE memory SET tier = 'episodic' WHERE ordinal IN (${OLDEST_WORKING})`).run(oldest)
    .changes;
}

/** Memories, at most a 64th of the working maximum, that settle ahead: a full tier would settle one at every store. */
const SETTLED_AHEAD = 256;

/** Most that settle at one store: an undo may have filled the tier far beyond, and others wait for this one to end. */
const SETTLED_AT_ONCE = 1024;

/** Settles what is over three quarters of the working maximum, so that the tier never nears its alert. */
export function settleExcess(connection: Connection, namespace: string, workingMax: number): void {
  const working = sql(connection, "SELECT count FROM tier_count WHERE namespace = ? AND tier = 'working'")
    .pluck()
    .get(namespace) as number | undefined;
  const excess = (working ?? 0) - Math.floor((workingMax * 3) / 4);
  if (excess <= 0) return;
  const ahead = Math.min(SETTLED_AHEAD, Math.floor(workingMax / 64));
  settleOldest(connection, {
    namespace,
    storedUntil: Number.MAX_SAFE_INTEGER,
    limit: Math.min(excess + ahead, SETTLED_AT_ONCE),
  });
}
