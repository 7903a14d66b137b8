import type { Tier } from '@memoryd/contract';
import type { ChangeDetails, RunRef, StepResult } from '../ports/storage-consolidation.ts';
import { IN_TIER } from './filters.ts';
import type { FoundMemory } from './find-memory.ts';
import { endSummaries, eraseGroups, takeDeletable } from './forget-memories.ts';
import { countEntering, countLeaving, TIER_MEMBER, type TierMember } from './list-counters.ts';
import type { Transaction } from './queries.ts';
import { textSize } from './read-page.ts';
import { assertRunning, recordChanges } from './runs.ts';
import { raw, sql } from './sql.ts';

/** Evicts expired memories. Their rows and texts stay in the archive. See `Storage.evictExpired`. */
export async function evictExpired(
  transaction: Transaction,
  run: RunRef,
  now: number,
  limit: number,
): Promise<StepResult> {
  await assertRunning(transaction, run);
  const expired = await transaction.rows<{ ordinal: number }>(sql`
    SELECT m.ordinal FROM memory m ${transaction.dialect.indexedBy('memory_expiring')}
    WHERE m.namespace = ${run.namespace} AND m.expires_at <= ${now} AND ${raw(IN_TIER)}
    ORDER BY m.expires_at, m.ordinal LIMIT ${limit}`);
  await evict(transaction, run, expired, 'expired', now);
  return { count: expired.length, more: expired.length === limit };
}

/** Evicts the given memories that are still in the tier. See `Storage.evictExcess`. */
export async function evictExcess(
  transaction: Transaction,
  run: RunRef,
  tier: Tier,
  ordinals: readonly number[],
  now: number,
): Promise<number> {
  await assertRunning(transaction, run);
  const present = await transaction.rows<{ ordinal: number }>(sql`
    SELECT m.ordinal FROM ${transaction.dialect.ordinals('named', ordinals)} CROSS JOIN memory m
    WHERE m.namespace = ${run.namespace} AND m.ordinal = named.ordinal AND m.tier = ${tier} AND ${raw(IN_TIER)} ORDER BY named.place`);
  await evict(transaction, run, present, 'maximum', now);
  return present.length;
}

async function evict(
  transaction: Transaction,
  run: RunRef,
  memories: readonly { ordinal: number }[],
  reason: ChangeDetails['evicted']['reason'],
  at: number,
): Promise<void> {
  if (memories.length === 0) return;
  const ordinals = memories.map(({ ordinal }) => ordinal);
  await transaction.recall.remove(run.namespace, ordinals);
  await setEvicted(transaction, run.namespace, ordinals, at);
  await endSummaries(transaction, run.namespace, ordinals);
  await recordChanges(
    transaction,
    run,
    ordinals.map((ordinal) => ({ kind: 'evicted', ordinal, detail: { reason } })),
  );
}

/** Sets or clears the eviction time of memories and of the duplicates merged into them. */
export async function setEvicted(
  transaction: Transaction,
  namespace: string,
  ordinals: readonly number[],
  at: number | null,
): Promise<void> {
  const moved = await transaction.rows<TierMember & { id: string; createdAt: number }>(sql`
    UPDATE memory SET evicted_at = ${at}
    WHERE ${transaction.dialect.isMemory('ordinal', namespace, ordinals)}
    RETURNING id, created_at AS "createdAt", ${TIER_MEMBER}`);
  const { isIn } = transaction.dialect;
  const ids = moved.map(({ id }) => id);
  await transaction.run(sql`
    UPDATE memory SET evicted_at = ${at}
    WHERE namespace = ${namespace} AND ${isIn(raw('merged_into'), ids)}`);
  await (at === null ? countEntering : countLeaving)(transaction, moved);
}

/**
 * Maximum evicted memories that one transaction selects for deletion, so that other writers are not blocked for long.
 */
const MAX_DELETED_AT_ONCE = 50;

/**
 * Deletes memories that were evicted at or before `until`, and earlier runs that ended at or before `until`. See
 * `Storage.clearArchive`.
 */
export async function clearArchive(
  transaction: Transaction,
  run: RunRef,
  until: number,
  limit: number,
): Promise<StepResult> {
  await assertRunning(transaction, run);
  const batchLimit = Math.min(limit, MAX_DELETED_AT_ONCE);
  const { count, more } = await eraseEvicted(transaction, run.namespace, until, batchLimit);
  if (more) return { count, more };
  const dropped = await dropRecords(transaction, run, until, limit - count);
  return { count: count + dropped, more: count + dropped >= limit };
}

async function eraseEvicted(
  transaction: Transaction,
  namespace: string,
  until: number,
  limit: number,
): Promise<StepResult> {
  const evicted = await transaction.rows<Pick<FoundMemory, 'id' | 'mergedInto'> & { bytes: number }>(sql`
    SELECT m.id, m.merged_into AS "mergedInto", ${textSize()} AS bytes
    FROM memory m ${transaction.dialect.indexedBy('memory_evicted')}
    WHERE m.namespace = ${namespace} AND m.evicted_at <= ${until} LIMIT ${limit}`);
  const batch = takeDeletable(evicted);
  await eraseGroups(transaction, namespace, batch, { keepOwnText: true });
  return { count: batch.length, more: batch.length < evicted.length || evicted.length === limit };
}

/** Deletes the changes of runs that ended by `until`, oldest run first. A run is deleted with its last change. */
async function dropRecords(
  transaction: Transaction,
  { namespace, no }: RunRef,
  until: number,
  limit: number,
): Promise<number> {
  let count = 0;
  while (count < limit) {
    const oldest = await transaction.row<{ no: number }>(sql`
      SELECT no FROM consolidation_run
      WHERE namespace = ${namespace} AND no < ${no} AND ended_at <= ${until} AND state <> 'undoing'
      ORDER BY no LIMIT 1`);
    if (!oldest) break;
    const changes = sql`namespace = ${namespace} AND run = ${oldest.no}`;
    count += await transaction.run(sql`
      DELETE FROM consolidation_change WHERE ${changes} AND seq <= (
        SELECT max(seq) FROM (SELECT seq FROM consolidation_change WHERE ${changes} ORDER BY seq LIMIT ${limit - count}) AS first)`);
    if (count < limit) {
      count += await transaction.run(
        sql`DELETE FROM consolidation_run WHERE namespace = ${namespace} AND no = ${oldest.no}`,
      );
    }
  }
  return count;
}
