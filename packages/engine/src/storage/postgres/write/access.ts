import { LIMITS } from '@memoryd/contract/limits';
import type { MemoryAccess } from '../../../ports/storage-memories.ts';
import type { ChangeDetails } from '../../../ports/storage-runs.ts';
import { sql } from '../../sql/sql.ts';
import type { Connection, Transaction } from '../connection.ts';

/** Namespaces that one transaction writes of: each is a lock, of which a server has room for some thousands. */
const NAMESPACES_AT_ONCE = 256;

/** See `Storage.recordAccess`. */
export async function recordAccesses(connection: Connection, accesses: readonly MemoryAccess[]): Promise<void> {
  const namespaces = [...new Set(accesses.map((access) => access.namespace))];
  for (let from = 0; from < namespaces.length; from += NAMESPACES_AT_ONCE) {
    const some = new Set(namespaces.slice(from, from + NAMESPACES_AT_ONCE));
    const these = accesses.filter((access) => some.has(access.namespace));
    await connection.write({ exclusiveOf: [], shared: [...some] }, (transaction) => recordAccess(transaction, these));
  }
}

/** Adds to the access counts of memories that still exist, up to the most that is counted. The transaction holds their namespaces. */
export async function recordAccess(transaction: Transaction, accesses: readonly MemoryAccess[]): Promise<void> {
  const columns = {
    namespaces: accesses.map((access) => access.namespace),
    ordinals: accesses.map((access) => access.ordinal),
    counts: accesses.map((access) => access.count),
    times: accesses.map((access) => access.at),
  };
  // In one order for all, so that two processes that write of the same memories wait for each other in one direction.
  await transaction.run(sql`
    INSERT INTO memory_access (namespace, ordinal, count, last_at)
    SELECT a.namespace, a.ordinal, least(sum(a.count), ${LIMITS.counted}), max(a.at)
    FROM unnest(${columns.namespaces}::text[], ${columns.ordinals}::bigint[], ${columns.counts}::integer[],
      ${columns.times}::bigint[]) AS a(namespace, ordinal, count, at)
    JOIN memory USING (namespace, ordinal)
    GROUP BY a.namespace, a.ordinal ORDER BY a.namespace, a.ordinal
    ON CONFLICT (namespace, ordinal) DO UPDATE SET
      count = least(memory_access.count::bigint + excluded.count, ${LIMITS.counted}),
      last_at = greatest(memory_access.last_at, excluded.last_at)`);
}

/** Takes away uses that a memory gained, and their time where none was later. */
export async function takeAccess(
  transaction: Transaction,
  namespace: string,
  ordinal: number,
  { uses, lastUse, accessedAt }: Pick<ChangeDetails['gained'], 'uses' | 'lastUse' | 'accessedAt'>,
): Promise<void> {
  if (uses === 0) return;
  const ofIt = sql`namespace = ${namespace} AND ordinal = ${ordinal}`;
  await transaction.run(sql`
    UPDATE memory_access SET count = count - ${uses}::integer,
      last_at = CASE WHEN last_at = ${lastUse} THEN coalesce(${accessedAt}::bigint, last_at) ELSE last_at END
    WHERE ${ofIt}`);
  await transaction.run(sql`DELETE FROM memory_access WHERE ${ofIt} AND count <= 0`);
}
