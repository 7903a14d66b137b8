import type { NamespaceQuota } from '@memoryd/contract';
import type { Page, PageRequest, UserRow } from '../ports/storage-memories.ts';
import type { Quota } from '../ports/storage-namespaces.ts';
import type { Queries } from './queries.ts';
import { sql } from './sql.ts';
import { getUserCounts, noCounts } from './usage.ts';

interface Row extends Quota {
  userId: string;
  quotaMemories: NamespaceQuota['memories'];
  quotaBytes: NamespaceQuota['bytes'];
  lastStoredAt: number;
}

/** See `Storage.users`. Reads counters and index entries, so the number of memories is irrelevant. */
export async function users(
  queries: Queries,
  namespace: string,
  { limit, after = '' }: Pick<PageRequest<string>, 'limit' | 'after'>,
  now: number,
): Promise<Page<UserRow, string>> {
  const ofUser = sql`namespace = first.namespace AND user_id = first.user_id`;
  const rows = await queries.rows<Row>(sql`
    SELECT first.user_id AS "userId",
      (SELECT CAST(sum(memories) AS bigint) FROM usage WHERE ${ofUser}) AS memories,
      (SELECT CAST(sum(bytes) AS bigint) FROM usage WHERE ${ofUser}) AS bytes,
      (SELECT memories FROM quota WHERE ${ofUser}) AS "quotaMemories",
      (SELECT bytes FROM quota WHERE ${ofUser}) AS "quotaBytes",
      (SELECT max(last_stored_at) FROM usage WHERE ${ofUser}) AS "lastStoredAt"
    FROM usage AS first
    WHERE namespace = ${namespace} AND user_id > ${after} AND slot = ${queries.dialect.firstSlot}
    ORDER BY user_id LIMIT ${limit + 1}`);
  const listed = rows.slice(0, limit);
  const counts = await getUserCounts(
    queries,
    namespace,
    listed.map(({ userId }) => userId),
    now,
  );
  const items = listed.map(({ userId, memories, bytes, quotaMemories, quotaBytes, lastStoredAt }) => ({
    userId,
    counts: counts.get(userId) ?? noCounts(),
    used: { memories, bytes },
    quota: { memories: quotaMemories, bytes: quotaBytes },
    lastStoredAt,
  }));
  const counted = await queries.row<{ total: number }>(sql`
    SELECT CAST(coalesce(sum(users), 0) AS bigint) AS total FROM usage WHERE namespace = ${namespace} AND user_id = ''`);
  const last = items.at(-1);
  return { items, total: counted?.total ?? 0, ...(rows.length > limit && last && { next: last.userId }) };
}
