import { WORKING } from '../../conditions.ts';
import { settledByStore } from '../../settling.ts';
import { raw, type Sql, sql } from '../../sql/sql.ts';
import type { Transaction } from '../connection.ts';
import { countOf, countTiers } from './tiers.ts';

/**
 * Moves the oldest working memories that meet a condition on `memory m` to the episodic tier; answers their ordinals,
 * the oldest first. What others are about to settle is passed over.
 */
export async function settleOldest(
  transaction: Transaction,
  { namespace, condition, limit }: { namespace: string; condition: Sql; limit: number },
): Promise<number[]> {
  const settled = await transaction.rows<{ ordinal: number }>(sql`
    WITH oldest AS (
        SELECT m.ordinal FROM memory m WHERE m.namespace = ${namespace} AND ${raw(WORKING)} AND ${condition}
        ORDER BY m.stored_at, m.ordinal LIMIT ${limit} FOR UPDATE SKIP LOCKED),
      settled AS (
        UPDATE memory m SET tier = 'episodic' FROM oldest
        WHERE m.namespace = ${namespace} AND m.ordinal = oldest.ordinal
        RETURNING m.ordinal, m.stored_at)
    SELECT ordinal FROM settled ORDER BY stored_at, ordinal`);
  const count = settled.length;
  if (count > 0) {
    await countTiers(transaction, [
      { namespace, tier: 'working', count: -count },
      { namespace, tier: 'episodic', count },
    ]);
  }
  return settled.map(({ ordinal }) => ordinal);
}

/** Settles the oldest where a namespace has many working memories. */
export async function settleExcess(transaction: Transaction, namespace: string, workingMax: number): Promise<void> {
  const limit = settledByStore(await countOf(transaction, namespace, 'working'), workingMax);
  if (limit > 0) await settleOldest(transaction, { namespace, condition: raw('true'), limit });
}
