import type { Tier } from '@memoryd/contract';
import type { ChangeDetails, RunRef, StepResult } from '../../../ports/storage-runs.ts';
import { IN_TIER } from '../../conditions.ts';
import { type Connection, sql } from '../connection.ts';
import { leaveRecall } from '../recall-entry.ts';
import { assertRunning, recordChange } from './run.ts';

/** Takes expired memories out of the tiers and their indexes; rows and texts stay. See `Storage.evictExpired`. */
export function evictExpired(connection: Connection, run: RunRef, now: number, limit: number): StepResult {
  assertRunning(connection, run);
  const expired = sql(
    connection,
    `SELECT ordinal FROM memory m INDEXED BY memory_expiring
     WHERE namespace = ? AND expires_at <= ? AND ${IN_TIER} LIMIT ?`,
  )
    .pluck()
    .all(run.namespace, now, limit) as number[];
  for (const ordinal of expired) evict(connection, run, ordinal, 'expired', now);
  return { count: expired.length, more: expired.length === limit };
}

/** Takes memories out of a tier, as far as they are in it. See `Storage.evictExcess`. */
export function evictExcess(
  connection: Connection,
  run: RunRef,
  tier: Tier,
  ordinals: readonly number[],
  now: number,
): number {
  assertRunning(connection, run);
  const inTier = sql(
    connection,
    `SELECT ordinal FROM memory m WHERE ordinal = ? AND namespace = ? AND tier = ? AND ${IN_TIER}`,
  );
  const present = ordinals.filter((ordinal) => inTier.get(ordinal, run.namespace, tier) !== undefined);
  for (const ordinal of present) evict(connection, run, ordinal, 'maximum', now);
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

function evict(
  connection: Connection,
  run: RunRef,
  ordinal: number,
  reason: ChangeDetails['evicted']['reason'],
  at: number,
): void {
  leaveRecall(connection, run.namespace, ordinal);
  setEvicted(connection, ordinal, at);
  recordChange(connection, run, { kind: 'evicted', ordinal, detail: { reason } });
}
