import type { RunRef, StepResult } from '../../../ports/storage-runs.ts';
import type { Settling } from '../../../ports/storage-sleep.ts';
import { oldEnough } from '../../sql/filters.ts';
import { assertRunning, recordChanges } from '../../sql/run.ts';
import type { Transaction } from '../connection.ts';
import { settleOldest } from '../write/settle.ts';

/** Moves the oldest working memories to the episodic tier. See `Storage.settle`. */
export async function settle(
  transaction: Transaction,
  run: RunRef,
  settling: Settling,
  limit: number,
): Promise<StepResult> {
  await assertRunning(transaction, run);
  const condition = oldEnough(settling);
  const settled = await settleOldest(transaction, { namespace: run.namespace, condition, limit });
  await recordChanges(
    transaction,
    run,
    settled.map((ordinal) => ({ kind: 'settled', ordinal, detail: {} })),
  );
  return { count: settled.length, more: settled.length === limit };
}
