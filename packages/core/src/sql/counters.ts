import type { Tier } from '@memoryd/contract';
import { LIMITS } from '@memoryd/contract/limits';
import type { ChangeDetails } from '../ports/storage-consolidation.ts';
import type { MemoryAccess } from '../ports/storage-memories.ts';
import type { Quota } from '../ports/storage-namespaces.ts';
import type { Queries } from './queries.ts';
import { raw, sql } from './sql.ts';

/** A change of the number of memories that a user has in a tier; negative for removals. */
interface TierChange {
  namespace: string;
  /** Empty for memories without a user. */
  userId: string;
  tier: Tier;
  count: number;
}

const TIER_COLUMNS = { namespace: 'text', user_id: 'text', tier: 'text', count: 'bigint' } as const;
const ADD_TIERS = sql`ON CONFLICT (namespace, user_id, tier, slot) DO UPDATE SET count = tier_count.count + excluded.count`;

/**
 * Updates the stored tier counts of namespaces and users. Every write that moves memories between tiers must call
 * `countTiers`; a write that moves memories into or out of the tiers calls `countEntering` or `countLeaving` instead.
 */
export async function countTiers(queries: Queries, changes: readonly TierChange[]): Promise<void> {
  const sums = new Map<string, TierChange>();
  const add = (userId: string, { namespace, tier, count }: TierChange) => {
    // Sorted by this key, the rows of a namespace come before the rows of its users. Transactions that share a slot
    // wait for each other there, before they lock other rows.
    const key = `${namespace}\0${userId}\0${tier}`;
    const sum = sums.get(key);
    if (sum) sum.count += count;
    else sums.set(key, { namespace, userId, tier, count });
  };
  for (const change of changes) {
    add('', change);
    if (change.userId !== '') add(change.userId, change);
  }
  const rows = inOrder(sums).map(({ userId, ...row }) => ({ ...row, user_id: userId }));
  await queries.insert('tier_count', TIER_COLUMNS, rows, ADD_TIERS);
}

/** Returns the number of memories in a tier, including expired ones that are not evicted yet. */
export async function getCount(queries: Queries, namespace: string, tier: Tier): Promise<number> {
  const found = await queries.row<{ count: number }>(
    sql`SELECT CAST(coalesce(sum(count), 0) AS bigint) AS count FROM tier_count
        WHERE namespace = ${namespace} AND user_id = '' AND tier = ${tier}`,
  );
  return found?.count ?? 0;
}

/** Returns the values sorted by key. The fixed lock order prevents deadlocks between transactions. */
export function inOrder<T>(values: ReadonlyMap<string, T>): T[] {
  return [...values].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, value]) => value);
}

/** A change of the usage of a user; `userId` is empty for memories without a user. */
interface UsageChange extends Quota {
  namespace: string;
  userId: string;
  /** The last storage time of memories that a client stores or imports. */
  lastStoredAt?: number | null;
}

/** Changes of the numbers of users and sessions of a namespace. */
type ListedChange = Partial<Record<'users' | 'sessions', number>>;

/**
 * Updates the stored usage of namespaces and users. Every write that adds or deletes client texts must call
 * `countUsage`: storing, updating, importing and deleting.
 */
export async function countUsage(queries: Queries, changes: readonly UsageChange[]): Promise<void> {
  await addUsage(
    queries,
    changes.flatMap((change) => {
      const ofNamespace = { ...change, userId: '', lastStoredAt: null };
      return change.userId === '' ? [ofNamespace] : [ofNamespace, change];
    }),
  );
}

async function addUsage(queries: Queries, changes: readonly (UsageChange & ListedChange)[]): Promise<void> {
  const sums = new Map<string, Required<UsageChange & ListedChange>>();
  for (const { namespace, userId, memories, bytes, users = 0, sessions = 0, lastStoredAt = null } of changes) {
    if (memories === 0 && bytes === 0 && users === 0 && sessions === 0 && lastStoredAt === null) continue;
    const key = `${namespace}\0${userId}`;
    const sum = sums.get(key) ?? { namespace, userId, memories: 0, bytes: 0, users: 0, sessions: 0, lastStoredAt };
    sum.memories += memories;
    sum.bytes += bytes;
    sum.users += users;
    sum.sessions += sessions;
    if (lastStoredAt !== null) sum.lastStoredAt = Math.max(sum.lastStoredAt ?? lastStoredAt, lastStoredAt);
    sums.set(key, sum);
  }
  const rows = inOrder(sums).map(({ userId, lastStoredAt, ...row }) => ({
    ...row,
    user_id: userId,
    last_stored_at: lastStoredAt,
  }));
  const last = sql`last_stored_at = ${queries.dialect.greatest}(
    coalesce(usage.last_stored_at, excluded.last_stored_at), coalesce(excluded.last_stored_at, usage.last_stored_at))`;
  await queries.insert('usage', USAGE_COLUMNS, rows, sql`${ADD_USAGE}, ${last}`);
}

/** Updates the stored numbers of users and sessions of namespaces. */
export async function countListed(
  queries: Queries,
  changes: readonly ({ namespace: string } & ListedChange)[],
): Promise<void> {
  if (changes.length === 0) return;
  await addUsage(
    queries,
    changes.map((change) => ({ userId: '', memories: 0, bytes: 0, ...change })),
  );
}

const USAGE_COLUMNS = {
  namespace: 'text',
  user_id: 'text',
  memories: 'bigint',
  bytes: 'bigint',
  users: 'bigint',
  sessions: 'bigint',
  last_stored_at: 'bigint',
} as const;
const ADD_USAGE = sql`ON CONFLICT (namespace, user_id, slot) DO UPDATE SET
  memories = usage.memories + excluded.memories, bytes = usage.bytes + excluded.bytes,
  users = usage.users + excluded.users, sessions = usage.sessions + excluded.sessions`;

/**
 * Aggregates of `memory m` for quotas: the number of memories, without semantic memories, and the bytes of current and
 * earlier texts and of attachments, without texts written by consolidation.
 */
export const COUNTED = raw(`count(*) FILTER (WHERE m.tier <> 'semantic') AS memories,
  CAST(coalesce(sum(
    m.attachment_bytes + CASE WHEN m.revision > coalesce(m.distilled_revision, 0) THEN octet_length(m.content) ELSE 0 END
    + CASE WHEN m.revision > 1 THEN coalesce((
        SELECT sum(octet_length(h.content)) FROM memory_history h
        WHERE h.namespace = m.namespace AND h.ordinal = m.ordinal AND h.revision > coalesce(m.distilled_revision, 0)), 0)
      ELSE 0 END), 0) AS bigint) AS bytes`);

/** Returns the quota usage of the memories with the given ordinals, by user. */
export function readUsage(
  queries: Queries,
  namespace: string,
  ordinals: readonly number[],
): Promise<(Quota & { userId: string })[]> {
  return queries.rows(sql`
    SELECT m.user_id AS "userId", ${COUNTED} FROM memory m
    WHERE ${queries.dialect.isMemory('m.ordinal', namespace, ordinals)} GROUP BY m.user_id`);
}

/** Adds to the access counts of the memories that still exist. A count is at most `LIMITS.counterValue`. */
export async function recordAccess(queries: Queries, accesses: readonly MemoryAccess[]): Promise<void> {
  const { dialect } = queries;
  const records = dialect.records(
    'a',
    { namespace: 'text', ordinal: 'bigint', count: 'integer', at: 'bigint' },
    accesses,
  );
  const { least, greatest } = dialect;
  // The fixed lock order prevents deadlocks between processes that update the same memories.
  await queries.run(sql`
    INSERT INTO memory_access (namespace, ordinal, count, last_at)
    SELECT a.namespace, a.ordinal, ${least}(sum(a.count), ${LIMITS.counterValue}), max(a.at)
    FROM ${records} CROSS JOIN memory m WHERE m.namespace = a.namespace AND m.ordinal = a.ordinal
    GROUP BY a.namespace, a.ordinal ORDER BY a.namespace, a.ordinal
    ON CONFLICT ${dialect.memoryKey} DO UPDATE SET
      count = ${least}(CAST(memory_access.count AS bigint) + excluded.count, ${LIMITS.counterValue}),
      last_at = ${greatest}(memory_access.last_at, excluded.last_at)`);
}

/**
 * Subtracts the accesses that a memory gained from a merge. Restores the last access time unless a later access has
 * changed the time.
 */
export async function subtractAccess(
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
