import type { Transaction } from '../connection.ts';
import { sql } from '../sql.ts';
import { countOf, countTiers } from './tiers.ts';

/**
 * Moves the oldest working memories to the episodic tier and answers their ordinals. What others are about to settle is
 * passed over.
 */
export async function settleOldest(
  transaction: Transaction,
  { namespace, storedUntil, limit }: { namespace: string; storedUntil: number; limit: number },
): Promise<number[]> {
  const settled = await transaction.rows<{ ordinal: number }>(sql`
    WITH oldest AS (
      SELECT ordinal FROM memory
      WHERE namespace = ${namespace} AND tier = 'working' AND merged_into IS NULL AND evicted_at IS NULL
        AND stored_at <= ${storedUntil}
      ORDER BY stored_at, ordinal LIMIT ${limit} FOR UPDATE SKIP LOCKED)
    UPDATE memory m SET tier = 'episodic' FROM oldest
    WHERE m.namespace = ${namespace} AND m.ordinal = oldest.ordinal
    RETURNING m.ordinal`);
  const count = settled.length;
  if (count > 0) {
    await countTiers(transaction, [
      { namespace, tier: 'working', count: -count },
      { namespace, tier: 'episodic', count },
    ]);
  }
  return settled.map(({ ordinal }) => ordinal).sort((one, other) => one - other);
}

/** Memories, at most a 64th of the working maximum, that settle ahead: a full tier would settle one at every store. */
const SETTLED_AHEAD = 256;

/** Most that settle at one store: an undo may have filled the tier far beyond, and others wait for this one to end. */
const SETTLED_AT_ONCE = 1024;

/** Settles what is over three quarters of the working maximum, so that the tier never nears its alert. */
export async function settleExcess(transaction: Transaction, namespace: string, workingMax: number): Promise<void> {
  const excess = (await countOf(transaction, namespace, 'working')) - Math.floor((workingMax * 3) / 4);
  if (excess <= 0) return;
  const ahead = Math.min(SETTLED_AHEAD, Math.floor(workingMax / 64));
  await settleOldest(transaction, {
    namespace,
    storedUntil: Number.MAX_SAFE_INTEGER,
    limit: Math.min(excess + ahead, SETTLED_AT_ONCE),
  });
}
