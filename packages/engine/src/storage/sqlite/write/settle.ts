import type { StepResult } from '../../../ports/storage.ts';
import { type Connection, sql } from '../connection.ts';
import { dropOldChanges } from '../recall-entry.ts';

const OLDEST_WORKING = `SELECT ordinal FROM memory
  WHERE namespace = @namespace AND tier = 'working' AND merged_into IS NULL AND evicted_at IS NULL
    AND stored_at <= @storedUntil
  ORDER BY stored_at, ordinal LIMIT @limit`;

/** Moves the oldest working memories to the episodic tier. See `Storage.settle`. */
export function settle(connection: Connection, namespace: string, storedUntil: number, limit: number): StepResult {
  const oldest = { namespace, storedUntil, limit };
  // First, since after the update they are no longer found.
  const noted = sql(connection, `INSERT INTO recall_change (ordinal) ${OLDEST_WORKING}`).run(oldest);
  dropOldChanges(connection, Number(noted.lastInsertRowid), noted.changes);
  const { changes } = sql(connection, `UPDATE memory SET tier = 'episodic' WHERE ordinal IN (${OLDEST_WORKING})`).run(
    oldest,
  );
  return { count: changes, more: changes === limit };
}

/** Memories, at most a 64th of the working maximum, that settle ahead: a full tier would settle one at every store. */
const SETTLED_AHEAD = 256;

/** Settles what is over three quarters of the working maximum, so that the tier never nears its alert. */
export function settleExcess(connection: Connection, namespace: string, workingMax: number): void {
  const working = sql(connection, "SELECT count FROM tier_count WHERE namespace = ? AND tier = 'working'")
    .pluck()
    .get(namespace) as number | undefined;
  const excess = (working ?? 0) - Math.floor((workingMax * 3) / 4);
  if (excess <= 0) return;
  const ahead = Math.min(SETTLED_AHEAD, Math.floor(workingMax / 64));
  settle(connection, namespace, Number.MAX_SAFE_INTEGER, excess + ahead);
}
