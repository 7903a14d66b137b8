import type { RunRef, StepResult } from '../../../ports/storage-runs.ts';
import type { Settling } from '../../../ports/storage-sleep.ts';
import { WORKING } from '../../conditions.ts';
import { aheadFrom, settledByStore } from '../../settling.ts';
import { assertRunning } from '../../sql/run.ts';
import { type Connection, sql } from '../connection.ts';
import type { FileQueries } from '../queries.ts';

/** See `Settling`. */
export const OLD_ENOUGH = '(m.stored_at <= @settledUntil OR m.stored_at >= @aheadFrom)';

const OLDEST_WORKING = `SELECT ordinal FROM memory m
  WHERE namespace = @namespace AND ${WORKING} AND ${OLD_ENOUGH}
  ORDER BY stored_at, ordinal LIMIT @limit`;

/** Moves the oldest working memories to the episodic tier. See `Storage.settle`. */
export async function settle(
  queries: FileQueries,
  run: RunRef,
  settling: Settling,
  limit: number,
): Promise<StepResult> {
  const { connection } = queries;
  await assertRunning(queries, run);
  const { settledUntil } = settling;
  const oldest = { namespace: run.namespace, settledUntil, aheadFrom: aheadFrom(settling), limit };
  // First, since after the update they are no longer found.
  sql(
    connection,
    `INSERT INTO sleep_change (namespace, run, seq, kind, ordinal, detail)
     SELECT @namespace, @no, row_number() OVER () + coalesce((SELECT max(seq) FROM sleep_change WHERE run = @no), 0),
       'settled', ordinal, '{}'
     FROM (${OLDEST_WORKING})`,
  ).run({ ...oldest, no: run.no });
  const count = settleOldest(connection, oldest);
  return { count, more: count === limit };
}

interface Oldest {
  namespace: string;
  settledUntil: number;
  aheadFrom: number;
  limit: number;
}

function settleOldest(connection: Connection, oldest: Oldest): number {
  return sql(connection, `UPDATE memory SET tier = 'episodic' WHERE ordinal IN (${OLDEST_WORKING})`).run(oldest)
    .changes;
}

/** Settles the oldest where a namespace has many working memories. */
export function settleExcess(connection: Connection, namespace: string, workingMax: number): void {
  const working = sql(connection, "SELECT count FROM tier_count WHERE namespace = ? AND tier = 'working'")
    .pluck()
    .get(namespace) as number | undefined;
  const limit = settledByStore(working ?? 0, workingMax);
  if (limit === 0) return;
  settleOldest(connection, {
    namespace,
    settledUntil: Number.MAX_SAFE_INTEGER,
    aheadFrom: Number.MAX_SAFE_INTEGER,
    limit,
  });
}
