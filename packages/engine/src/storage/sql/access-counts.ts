import { LIMITS } from '@memoryd/contract/limits';
import type { MemoryAccess } from '../../ports/storage-memories.ts';
import type { ChangeDetails } from '../../ports/storage-runs.ts';
import type { Queries } from './queries.ts';
import { sql } from './sql.ts';

/** Adds to the access counts of memories that still exist, up to the most that is counted. */
export async function recordAccess(queries: Queries, accesses: readonly MemoryAccess[]): Promise<void> {
  const { dialect } = queries;
  const records = dialect.records(
    'a',
    { namespace: 'text', ordinal: 'bigint', count: 'integer', at: 'bigint' },
    accesses,
  );
  const { least, greatest } = dialect;
  // In one order for all, so that two processes that write of the same memories wait for each other in one direction.
  await queries.run(sql`
    INSERT INTO memory_access (namespace, ordinal, count, last_at)
    SELECT a.namespace, a.ordinal, ${least}(sum(a.count), ${LIMITS.counted}), max(a.at)
    FROM ${records} CROSS JOIN memory m WHERE m.namespace = a.namespace AND m.ordinal = a.ordinal
    GROUP BY a.namespace, a.ordinal ORDER BY a.namespace, a.ordinal
    ON CONFLICT ${dialect.memoryKey} DO UPDATE SET
      count = ${least}(CAST(memory_access.count AS bigint) + excluded.count, ${LIMITS.counted}),
      last_at = ${greatest}(memory_access.last_at, excluded.last_at)`);
}

/** Takes away uses that a memory gained, and their time where none was later. */
export async function takeAccess(
  queries: Queries,
  namespace: string,
  ordinal: number,
  { uses, lastUse, accessedAt }: Pick<ChangeDetails['gained'], 'uses' | 'lastUse' | 'accessedAt'>,
): Promise<void> {
  if (uses === 0) return;
  const ofIt = sql`namespace = ${namespace} AND ordinal = ${ordinal}`;
  await queries.run(sql`
    UPDATE memory_access SET count = count - CAST(${uses} AS integer),
      last_at = CASE WHEN last_at = ${lastUse} THEN coalesce(CAST(${accessedAt} AS bigint), last_at) ELSE last_at END
    WHERE ${ofIt}`);
  await queries.run(sql`DELETE FROM memory_access WHERE ${ofIt} AND count <= 0`);
}
