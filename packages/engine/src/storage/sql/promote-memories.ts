import type { Promotion, RunRef, StepResult } from '../../ports/storage-consolidation.ts';
import { countTiers, getCount } from './counters.ts';
import { oldEnough, WORKING } from './filters.ts';
import type { Transaction } from './queries.ts';
import { assertRunning, recordChanges } from './runs.ts';
import { raw, type Sql, sql } from './sql.ts';

/**
 * Moves the oldest working memories that meet a condition on `memory m` to the episodic tier; answers their ordinals,
 * the oldest first. What others are about to promote is passed over.
 */
async function promoteOldest(
  transaction: Transaction,
  { namespace, condition, limit }: { namespace: string; condition: Sql; limit: number },
): Promise<number[]> {
  const { indexedBy, isMemory, skipLocked } = transaction.dialect;
  const promoted = await transaction.rows<{ ordinal: number }>(sql`
    SELECT m.ordinal FROM memory m ${indexedBy('memory_working')}
    WHERE m.namespace = ${namespace} AND ${raw(WORKING)} AND ${condition}
    ORDER BY m.stored_at, m.ordinal LIMIT ${limit} ${skipLocked}`);
  const ordinals = promoted.map(({ ordinal }) => ordinal);
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

/** Memories, at most a 64th of the working maximum, that promote ahead: a full tier would promote one at every store. */
const PROMOTED_AHEAD = 256;

/** Most that promote at one store: an undo may have filled the tier far beyond, and others wait for this one to end. */
const PROMOTED_AT_ONCE = 1024;

/**
 * How many of the oldest promote at a store that leaves a namespace with so many working memories: what is over three
 * quarters of the maximum, so that the tier never nears its alert.
 */
function getPromotedByStore(working: number, workingMax: number): number {
  const excess = working - Math.floor((workingMax * 3) / 4);
  if (excess <= 0) return 0;
  const ahead = Math.min(PROMOTED_AHEAD, Math.floor(workingMax / 64));
  return Math.min(excess + ahead, PROMOTED_AT_ONCE);
}

/** Promotes the oldest where a namespace has many working memories. */
export async function promoteExcess(transaction: Transaction, namespace: string, workingMax: number): Promise<void> {
  const limit = getPromotedByStore(await getCount(transaction, namespace, 'working'), workingMax);
  if (limit > 0) await promoteOldest(transaction, { namespace, condition: raw('true'), limit });
}

/** Moves the oldest working memories to the episodic tier. See `Storage.promote`. */
export async function promote(
  transaction: Transaction,
  run: RunRef,
  promotion: Promotion,
  limit: number,
): Promise<StepResult> {
  await assertRunning(transaction, run);
  const condition = oldEnough(promotion);
  const promoted = await promoteOldest(transaction, { namespace: run.namespace, condition, limit });
  await recordChanges(
    transaction,
    run,
    promoted.map((ordinal) => ({ kind: 'promoted', ordinal, detail: {} })),
  );
  return { count: promoted.length, more: promoted.length === limit };
}
