import type { Tier } from '@memoryd/contract';
import { LIMITS } from '@memoryd/contract/limits';
import type { ChangeDetails } from '../../ports/storage-consolidation.ts';
import type { MemoryAccess } from '../../ports/storage-memories.ts';
import type { Quota } from '../../ports/storage-namespaces.ts';
import type { Queries } from './queries.ts';
import { raw, sql } from './sql.ts';

/** So many memories more in a tier of a namespace, or fewer. */
interface TierChange {
  namespace: string;
  tier: Tier;
  count: number;
}

const TIER_COLUMNS = { namespace: 'text', tier: 'text', count: 'bigint' } as const;
const ADD_TIERS = sql`ON CONFLICT (namespace, tier, slot) DO UPDATE SET count = tier_count.count + excluded.count`;

/**
 * Adds to the kept counts of tiers. To be called by whatever lets memories into a tier or takes them out: storing,
 * forgetting, promotion, merging, setting free, evicting, and taking these back.
 */
export async function countTiers(queries: Queries, changes: readonly TierChange[]): Promise<void> {
  const sums = new Map<string, TierChange>();
  for (const change of changes) {
    const key = `${change.tier} ${change.namespace}`;
    sums.set(key, { ...change, count: change.count + (sums.get(key)?.count ?? 0) });
  }
  await queries.insert('tier_count', TIER_COLUMNS, inOrder(sums), ADD_TIERS);
}

/** Memories of a tier, those included that are hidden only by their expiry. */
export async function getCount(queries: Queries, namespace: string, tier: Tier): Promise<number> {
  const found = await queries.row<{ count: number }>(
    sql`SELECT CAST(coalesce(sum(count), 0) AS bigint) AS count FROM tier_count
        WHERE namespace = ${namespace} AND tier = ${tier}`,
  );
  return found?.count ?? 0;
}

/** Returns values by their keys in one order for all, so that two transactions wait for each other in one direction. */
export function inOrder<T>(values: ReadonlyMap<string, T>): T[] {
  return [...values].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, value]) => value);
}

/** So much more that clients gave a user of a namespace, or none, or less. */
interface UsageChange extends Quota {
  namespace: string;
  userId: string;
}

/**
 * Adds to what namespaces and users are counted to use. To be called by whatever keeps or erases what clients gave: storing,
 * updating, importing and erasing.
 */
export async function countUsage(queries: Queries, changes: readonly UsageChange[]): Promise<void> {
  const sums = new Map<string, UsageChange>();
  const add = ({ namespace, userId, memories, bytes }: UsageChange) => {
    const key = `${namespace}\0${userId}`;
    const before = sums.get(key) ?? { memories: 0, bytes: 0 };
    const sum = { namespace, userId, memories: before.memories + memories, bytes: before.bytes + bytes };
    if (memories !== 0 || bytes !== 0) sums.set(key, sum);
  };
  for (const change of changes) {
    add({ ...change, userId: '' });
    if (change.userId !== '') add(change);
  }
  const rows = inOrder(sums).map(({ userId, ...row }) => ({ ...row, user_id: userId }));
  await queries.insert('usage', USAGE_COLUMNS, rows, ADD_USAGE);
}

const USAGE_COLUMNS = { namespace: 'text', user_id: 'text', memories: 'bigint', bytes: 'bigint' } as const;
const ADD_USAGE = sql`ON CONFLICT (namespace, user_id, slot) DO UPDATE SET
  memories = usage.memories + excluded.memories, bytes = usage.bytes + excluded.bytes`;

/** What rows of `memory m` count for, all together. */
export const COUNTED = raw(`count(*) FILTER (WHERE m.tier <> 'semantic') AS memories,
  CAST(coalesce(sum(
    CASE WHEN m.revision > coalesce(m.distilled_revision, 0) THEN octet_length(m.content) ELSE 0 END
    + CASE WHEN m.revision > 1 THEN coalesce((
        SELECT sum(octet_length(h.content)) FROM memory_history h
        WHERE h.namespace = m.namespace AND h.ordinal = m.ordinal AND h.revision > coalesce(m.distilled_revision, 0)), 0)
      ELSE 0 END), 0) AS bigint) AS bytes`);

/** The usage of some memories, by user. */
export function takenByMemories(
  queries: Queries,
  namespace: string,
  ordinals: readonly number[],
): Promise<(Quota & { userId: string })[]> {
  return queries.rows(sql`
    SELECT m.user_id AS "userId", ${COUNTED} FROM memory m
    WHERE ${queries.dialect.isMemory('m.ordinal', namespace, ordinals)} GROUP BY m.user_id`);
}

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
