import type { Promotion, RunRef, StepResult } from '../ports/storage-consolidation.ts';
import { countTiers, getCount } from './counters.ts';
import { oldEnough, WORKING } from './filters.ts';
import type { Transaction } from './queries.ts';
import { assertRunning, recordChanges } from './runs.ts';
import { raw, type Sql, sql } from './sql.ts';

/**
 * Moves the oldest working memories that meet a condition on `memory m` to the episodic tier. Skips memories that
 * another transaction is promoting. Returns the ordinals of the promoted memories, oldest first.
 */
async function promoteOldest(
  transaction: Transaction,
  { namespace, condition, limit }: { namespace: string; condition: Sql; limit: number },
): Promise<number[]> {
  const { indexedBy, isMemory, skipLocked } = transaction.dialect;
  const promoted = await transaction.rows<{ ordinal: number; userId: string }>(sql`
    SELECT m.ordinal, m.user_id AS "userId" FROM memory m ${indexedBy('memory_working')}
    WHERE m.namespace = ${namespace} AND ${raw(WORKING)} AND ${condition}
    ORDER BY m.stored_at, m.ordinal LIMIT ${limit} ${skipLocked}`);
  const ordinals = promoted.map(({ ordinal }) => ordinal);
  await transaction.run(sql`UPDATE memory SET tier = 'episodic' WHERE ${isMemory('ordinal', namespace, ordinals)}`);
  await countTiers(
    transaction,
    promoted.flatMap(({ userId }) => [
      { namespace, userId, tier: 'working', count: -1 },
      { namespace, userId, tier: 'episodic', count: 1 },
    ]),
  );
  return ordinals;
}

/**
 * Maximum memories that a store promotes in addition to the excess, so that a full tier does not promote one memory at
 * every store. A second limit is 1/64 of the maximum of the working tier.
 */
const MAX_PROMOTED_AHEAD = 256;

/**
 * Maximum memories that one store promotes. After an undo, the tier may exceed its maximum by far, and other writers
 * must not wait until all of the excess is promoted.
 */
const MAX_PROMOTED_AT_ONCE = 1024;

/**
 * Returns the number of memories that a store promotes: the excess over three quarters of `workingMax`, plus a reserve
 * (see MAX_PROMOTED_AHEAD), and at most MAX_PROMOTED_AT_ONCE in total. 0 if there is no excess. The reserve saves
 * promoting one memory at every store.
 *
 * @param working number of working memories after the store
 */
function getPromotedByStore(working: number, workingMax: number): number {
  const excess = working - Math.floor((workingMax * 3) / 4);
  if (excess <= 0) return 0;
  const ahead = Math.min(MAX_PROMOTED_AHEAD, Math.floor(workingMax / 64));
  return Math.min(excess + ahead, MAX_PROMOTED_AT_ONCE);
}

/** Promotes the oldest working memories if the working tier is more than three quarters full. */
export async function promoteExcess(transaction: Transaction, namespace: string, workingMax: number): Promise<void> {
  const limit = getPromotedByStore(await getCount(transaction, namespace, 'working'), workingMax);
  if (limit > 0) await promoteOldest(transaction, { namespace, condition: raw('true'), limit });
}

/** Promotes the oldest working memories in a run. See `Storage.promote`. */
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
