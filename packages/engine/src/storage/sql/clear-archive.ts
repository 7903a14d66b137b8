import type { RunRef, StepResult } from '../../ports/storage-runs.ts';
import type { FoundMemory } from './find-memory.ts';
import { eraseClusters } from './forget.ts';
import { assertRunning } from './run.ts';
import { sql } from './sql.ts';
import type { Transaction } from './transaction.ts';

/** Memories that one transaction erases, so that other writers get their turn. */
const ERASED_AT_ONCE = 50;

/** Erases what has been kept long enough after it was evicted, and records as old. See `Storage.clearArchive`. */
export async function clearArchive(
  transaction: Transaction,
  run: RunRef,
  until: number,
  limit: number,
): Promise<StepResult> {
  await assertRunning(transaction, run);
  const most = Math.min(limit, ERASED_AT_ONCE);
  const count = await eraseEvicted(transaction, run.namespace, until, most);
  if (count === most) return { count, more: true };
  const dropped = await dropRecords(transaction, run, until, limit - count);
  return { count: count + dropped, more: count + dropped >= limit };
}

async function eraseEvicted(
  transaction: Transaction,
  namespace: string,
  until: number,
  limit: number,
): Promise<number> {
  const evicted = await transaction.rows<Pick<FoundMemory, 'id' | 'mergedInto'>>(sql`
    SELECT id, merged_into AS "mergedInto" FROM memory ${transaction.dialect.indexedBy('memory_evicted')}
    WHERE namespace = ${namespace} AND evicted_at <= ${until} LIMIT ${limit}`);
  await eraseClusters(transaction, namespace, evicted, { keepsOwn: true });
  return evicted.length;
}

/** Drops changes of old runs, oldest first, and each run with the last of its changes. */
async function dropRecords(
  transaction: Transaction,
  { namespace, no }: RunRef,
  until: number,
  limit: number,
): Promise<number> {
  let count = 0;
  while (count < limit) {
    const oldest = await transaction.row<{ no: number }>(sql`
      SELECT no FROM sleep_run
      WHERE namespace = ${namespace} AND no < ${no} AND ended_at <= ${until} AND state <> 'undoing'
      ORDER BY no LIMIT 1`);
    if (!oldest) break;
    const changes = sql`namespace = ${namespace} AND run = ${oldest.no}`;
    count += await transaction.run(sql`
      DELETE FROM sleep_change WHERE ${changes} AND seq <= (
        SELECT max(seq) FROM (SELECT seq FROM sleep_change WHERE ${changes} ORDER BY seq LIMIT ${limit - count}) AS first)`);
    if (count < limit) {
      count += await transaction.run(sql`DELETE FROM sleep_run WHERE namespace = ${namespace} AND no = ${oldest.no}`);
    }
  }
  return count;
}
