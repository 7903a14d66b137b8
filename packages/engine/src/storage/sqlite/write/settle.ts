import type { RunRef, Settling, StepResult } from '../../../ports/storage.ts';
import { type Connection, sql } from '../connection.ts';
import { assertRunning } from './run.ts';

/** See `Settling`. */
export const OLD_ENOUGH = '(m.stored_at <= @settledUntil OR m.stored_at >= 2 * @now - @settledUntil)';

const OLDEST_WORKING = `SELECT ordinal FROM memory m
  WHERE namespace = @namespace AND tier = 'working' AND merged_into IS NULL AND evicted_at IS NULL AND ${OLD_ENOUGH}
  ORDER BY stored_at, ordinal LIMIT @limit`;

/** Moves the oldest working memories to the episodic tier. See `Storage.settle`. */
export function settle(connection: Connection, run: RunRef, settling: Settling, limit: number): StepResult {
  assertRunning(connection, run);
  const oldest = { namespace: run.namespace, settledUntil: settling.settledUntil, now: settling.now, limit };
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

function settleOldest(connection: Connection, oldest: Settling & { namespace: string; limit: number }): number {
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
    settledUntil: Number.MAX_SAFE_INTEGER,
    now: 0,
    limit: Math.min(excess + ahead, SETTLED_AT_ONCE),
  });
}
