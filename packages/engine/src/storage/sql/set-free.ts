import { enterAgain } from './candidates.ts';
import { correctAnew } from './corrections.ts';
import { countTiers } from './count-tiers.ts';
import type { FoundMemory } from './find-memory.ts';
import { sql } from './sql.ts';
import type { Transaction } from './transaction.ts';

type MergedTwin = Pick<FoundMemory, 'namespace' | 'ordinal' | 'tier' | 'mergedInto' | 'evictedAt'>;

/** Makes a merged twin a memory of its own, in recall unless it was evicted; what corrects it corrects it alone. */
export async function setFree(
  transaction: Transaction,
  { namespace, ordinal, tier, mergedInto, evictedAt }: MergedTwin,
): Promise<void> {
  const freed = await transaction.row<{ correctedBy: string | null }>(sql`
    UPDATE memory SET merged_into = NULL WHERE namespace = ${namespace} AND ordinal = ${ordinal}
    RETURNING superseded_by AS "correctedBy"`);
  if (freed?.correctedBy != null && mergedInto !== null) await correctAnew(transaction, namespace, [mergedInto]);
  if (evictedAt !== null) return;
  await countTiers(transaction, [{ namespace, tier, count: 1 }]);
  await enterAgain(transaction, namespace, ordinal);
}
