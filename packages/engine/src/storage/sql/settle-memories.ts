import type { RunRef, Settling, StepResult } from '../../ports/storage-consolidation.ts';
import { countTiers, getCount } from './counters.ts';
import { oldEnough, WORKING } from './filters.ts';
import type { Transaction } from './queries.ts';
import { assertRunning, recordChanges } from './runs.ts';
import { raw, type Sql, sql } from './sql.ts';

/**
 * Moves the oldest working memories that meet a condition on `memory m` to the episodic tier; answers their ordinals,
 * the oldest first. What others are about to settle is passed over.
 */
async function settleOldest(
  transaction: Transaction,
  { namespace, condition, limit }: { namespace: string; condition: Sql; limit: number },
): Promise<number[]> {
  const { indexedBy, isMemory, skipLocked } = transaction.dialect;
  const settled = await transaction.rows<{ ordinal: number }>(sql`
    SELECT m.ordinal FROM memory m ${indexedBy('memory_working')}
    WHERE m.namespace = ${namespace} AND ${raw(WORKING)} AND ${condition}
    ORDER BY m.stored_at, m.ordinal LIMIT ${limit} ${skipLocked}`);
  const ordinals = settled.map(({ ordinal }) => ordinal);
  await transaction.run(sql`UPDATE memory SET tier = 'episodic' WHERE ${isMemory('ordinal', namespace, ordinals)}`);
  const count = ordinals.length;
  if (count > 0) {
    await countTiers(transaction, [
      { namespace, tier: 'working', count: -count },
      { namespace, tier: 'episodic', count },
    ]);
  }
  return ordinals;
}

/** Memories, at most a 64th of the working maximum, that settle ahead: a full tier would settle one at every store. */
const SETTLED_AHEAD = 256;

/** Most that settle at one store: an undo may have filled the tier far beyond, and others wait for this one to end. */
const SETTLED_AT_ONCE = 1024;

/**
 * How many of the oldest settle at a store that leaves a namespace with so many working memories: what is over three
 * quarters of the maximum, so that the tier never nears its alert.
 */
function settledByStore(working: number, workingMax: number): number {
  const excess = working - Math.floor((workingMax * 3) / 4);
  if (excess <= 0) return 0;
  const ahead = Math.min(SETTLED_AHEAD, Math.floor(workingMax / 64));
  return Math.min(excess + ahead, SETTLED_AT_ONCE);
}

/** Settles the oldest where a namespace has many working memories. */
export async function settleExcess(transaction: Transaction, namespace: string, workingMax: number): Promise<void> {
  const limit = settledByStore(await getCount(transaction, namespace, 'working'), workingMax);
  if (limit > 0) await settleOldest(transaction, { namespace, condition: raw('true'), limit });
}

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
