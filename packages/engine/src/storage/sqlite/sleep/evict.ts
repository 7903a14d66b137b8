import type { Tier } from '@memoryd/contract';
import type { ChangeDetails, RunRef, StepResult } from '../../../ports/storage-runs.ts';
import { IN_TIER } from '../../conditions.ts';
import { assertRunning, recordChanges } from '../../sql/run.ts';
import { type Connection, sql } from '../connection.ts';
import type { FileQueries } from '../queries.ts';
import { leaveRecall } from '../recall-entry.ts';

/** Takes expired memories out of the tiers and their indexes; rows and texts stay. See `Storage.evictExpired`. */
export async function evictExpired(queries: FileQueries, run: RunRef, now: number, limit: number): Promise<StepResult> {
  await assertRunning(queries, run);
  const expired = sql(
    queries.connection,
    `SELECT ordinal FROM memory m INDEXED BY memory_expiring
     WHERE namespace = ? AND expires_at <= ? AND ${IN_TIER} LIMIT ?`,
  )
    .pluck()
    .all(run.namespace, now, limit) as number[];
  await evict(queries, run, expired, 'expired', now);
  return { count: expired.length, more: expired.length === limit };
}

/** Takes memories out of a tier, as far as they are in it. See `Storage.evictExcess`. */
export async function evictExcess(
  queries: FileQueries,
  run: RunRef,
  tier: Tier,
  ordinals: readonly number[],
  now: number,
): Promise<number> {
  await assertRunning(queries, run);
  const inTier = sql(
    queries.connection,
    `SELECT ordinal FROM memory m WHERE ordinal = ? AND namespace = ? AND tier = ? AND ${IN_TIER}`,
  );
  const present = ordinals.filter((ordinal) => inTier.get(ordinal, run.namespace, tier) !== undefined);
  await evict(queries, run, present, 'maximum', now);
  return present.length;
}

/** Notes when a memory was evicted, or that it is not, and its twins with it, which it stands for. */
export function setEvicted(connection: Connection, ordinal: number, at: number | null): void {
  sql(connection, 'UPDATE memory SET evicted_at = ? WHERE ordinal = ?').run(at, ordinal);
  sql(
    connection,
    `UPDATE memory AS m SET evicted_at = ? FROM memory s
     WHERE s.ordinal = ? AND m.namespace = s.namespace AND m.merged_into = s.id`,
  ).run(at, ordinal);
}

async function evict(
  queries: FileQueries,
  run: RunRef,
  ordinals: readonly number[],
  reason: ChangeDetails['evicted']['reason'],
  at: number,
): Promise<void> {
  for (const ordinal of ordinals) {
    leaveRecall(queries.connection, run.namespace, ordinal);
    setEvicted(queries.connection, ordinal, at);
  }
  const changes = ordinals.map((ordinal) => ({ kind: 'evicted' as const, ordinal, detail: { reason } }));
  await recordChanges(queries, run, changes);
}
