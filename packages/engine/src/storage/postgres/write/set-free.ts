import type { Transaction } from '../connection.ts';
import { enterAgain } from '../recall-entry.ts';
import { sql } from '../sql.ts';
import type { Target } from './find.ts';
import { countTiers } from './tiers.ts';

/** Makes a merged twin a memory of its own, in recall unless it was evicted. */
export async function setFree(
  transaction: Transaction,
  { namespace, ordinal, tier, evictedAt }: Pick<Target, 'namespace' | 'ordinal' | 'tier' | 'evictedAt'>,
): Promise<void> {
  await transaction.run(
    sql`UPDATE memory SET merged_into = NULL WHERE namespace = ${namespace} AND ordinal = ${ordinal}`,
  );
  if (evictedAt !== null) return;
  await countTiers(transaction, [{ namespace, tier, count: 1 }]);
  await enterAgain(transaction, namespace, ordinal);
}
