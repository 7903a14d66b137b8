import type { NamespaceQuota, Tier } from '@memoryd/contract';
import type { Page, PageRequest, UserRow } from '../../ports/storage-memories.ts';
import type { Quota } from '../../ports/storage-namespaces.ts';
import { IN_TIER, notExpired } from './filters.ts';
import type { Queries } from './queries.ts';
import { raw, type Sql, sql } from './sql.ts';
import { noCounts } from './usage.ts';

/** See `Storage.users`. Must run in a snapshot. */
export async function users(
  queries: Queries,
  namespace: string,
  { limit, after = '' }: Pick<PageRequest<string>, 'limit' | 'after'>,
  now: number,
): Promise<Page<UserRow, string>> {
  const listed = await queries.rows<{ userId: string }>(
    sql`${usersFrom(namespace, after)} SELECT id AS "userId" FROM each WHERE id IS NOT NULL ORDER BY id LIMIT ${limit + 1}`,
  );
  const total = await queries.row<{ total: number }>(
    sql`${usersFrom(namespace, '')} SELECT count(id) AS total FROM each`,
  );
  const items: UserRow[] = [];
  for (const { userId } of listed.slice(0, limit)) items.push(await userRow(queries, namespace, userId, now));
  const last = items.at(-1);
  return {
    items,
    total: total?.total ?? 0,
    ...(listed.length > limit && last && { next: last.userId }),
  };
}

/**
 * Returns a WITH clause for a table `each` of the user ids after `after`, in order. The last row is null. Each row
 * needs only one index seek.
 */
function usersFrom(namespace: string, after: string): Sql {
  const first = (than: Sql) => sql`(
    SELECT m.user_id FROM memory m WHERE m.namespace = ${namespace} AND m.user_id > ${than} AND m.user_id <> '' ORDER BY m.user_id LIMIT 1)`;
  return sql`WITH RECURSIVE each(id) AS (
    SELECT ${first(sql`${after}`)} UNION ALL SELECT ${first(raw('each.id'))} FROM each WHERE each.id IS NOT NULL)`;
}

async function userRow(queries: Queries, namespace: string, userId: string, now: number): Promise<UserRow> {
  const counts = noCounts();
  const tiers = await queries.rows<{ tier: Tier; live: number; lastStoredAt: number }>(sql`
    SELECT m.tier, count(*) FILTER (WHERE ${raw(IN_TIER)} AND ${notExpired(now)}) AS live,
      max(m.stored_at) AS "lastStoredAt"
    FROM memory m WHERE m.namespace = ${namespace} AND m.user_id = ${userId} AND m.user_id <> '' GROUP BY m.tier`);
  for (const { tier, live } of tiers) counts[`${tier}_count`] = live;
  const used = await queries.row<Quota>(sql`
    SELECT CAST(sum(memories) AS bigint) AS memories, CAST(sum(bytes) AS bigint) AS bytes FROM usage
    WHERE namespace = ${namespace} AND user_id = ${userId} HAVING count(*) > 0`);
  const quota = await queries.row<NamespaceQuota>(
    sql`SELECT memories, bytes FROM quota WHERE namespace = ${namespace} AND user_id = ${userId}`,
  );
  return {
    userId,
    counts,
    used: { memories: used?.memories ?? 0, bytes: used?.bytes ?? 0 },
    quota: { memories: quota?.memories ?? null, bytes: quota?.bytes ?? null },
    lastStoredAt: Math.max(...tiers.map(({ lastStoredAt }) => lastStoredAt)),
  };
}
