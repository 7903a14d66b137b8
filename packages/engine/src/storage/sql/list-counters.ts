import type { Tier } from '@memoryd/contract';
import { countListed, countTiers, inOrder } from './counters.ts';
import { IN_TIER } from './filters.ts';
import type { Dialect, Queries } from './queries.ts';
import { raw, type Sql, sql } from './sql.ts';

/** A memory that enters or leaves the tiers. `sessionId` is null for a memory without a session. */
export interface TierMember {
  namespace: string;
  userId: string;
  sessionId: string | null;
  tier: Tier;
}

/** The columns of a `TierMember`, selected from `memory`. */
export const TIER_MEMBER = raw('namespace, user_id AS "userId", session_id AS "sessionId", tier');

/** A session of one user. See `SessionSummaryRow`. */
export interface SessionKey {
  namespace: string;
  sessionId: string;
  userId: string;
}

const SESSION_KEY = { namespace: 'text', sessionId: 'text', userId: 'text' } as const;
const SESSION_COLUMNS = {
  namespace: 'text',
  session_id: 'text',
  user_id: 'text',
  count: 'bigint',
  first_at: 'bigint',
  last_at: 'bigint',
} as const;

/**
 * Counts memories that enter the tiers, by tier and session. Every such write must call `countEntering`: storing,
 * importing, and undoing a merge or an eviction.
 */
export async function countEntering(
  queries: Queries,
  memories: readonly (TierMember & { createdAt: number })[],
): Promise<void> {
  await countTiers(
    queries,
    memories.map((memory) => ({ ...memory, count: 1 })),
  );
  const sessions = new Map<string, SessionKey & { count: number; firstAt: number; lastAt: number }>();
  for (const { namespace, sessionId, userId, createdAt } of memories) {
    if (sessionId === null) continue;
    const key = toKey({ namespace, sessionId, userId });
    const session = sessions.get(key) ?? {
      ...{ namespace, sessionId, userId, count: 0 },
      ...{ firstAt: createdAt, lastAt: createdAt },
    };
    session.count++;
    session.firstAt = Math.min(session.firstAt, createdAt);
    session.lastAt = Math.max(session.lastAt, createdAt);
    sessions.set(key, session);
  }
  await addSessions(queries, inOrder(sessions));
}

async function addSessions(
  queries: Queries,
  sessions: readonly (SessionKey & { count: number; firstAt: number; lastAt: number })[],
): Promise<void> {
  if (sessions.length === 0) return;
  const { dialect } = queries;
  const { least, greatest } = dialect;
  const records = dialect.records('added', { ...SESSION_KEY, firstAt: 'bigint', lastAt: 'bigint' }, sessions);
  const created = await queries.rows<{ namespace: string }>(sql`
    INSERT INTO session_count (namespace, session_id, user_id, slot, count, first_at, last_at)
    SELECT namespace, "sessionId", "userId", ${dialect.firstSlot}, 0, "firstAt", "lastAt" FROM ${records} WHERE true
    ORDER BY namespace, "sessionId", "userId"
    ON CONFLICT DO NOTHING RETURNING namespace`);
  await queries.insert(
    'session_count',
    SESSION_COLUMNS,
    sessions.map(({ namespace, sessionId, userId, count, firstAt, lastAt }) => ({
      ...{ namespace, session_id: sessionId, user_id: userId },
      ...{ count, first_at: firstAt, last_at: lastAt },
    })),
    sql`ON CONFLICT (namespace, session_id, user_id, slot) DO UPDATE SET
      count = session_count.count + excluded.count,
      first_at = ${least}(session_count.first_at, excluded.first_at),
      last_at = ${greatest}(session_count.last_at, excluded.last_at)`,
  );
  await countListed(
    queries,
    created.map(({ namespace }) => ({ namespace, sessions: 1 })),
  );
}

/**
 * Counts memories that have left the tiers, by tier and session. Every such write must call `countLeaving` after it has
 * changed or deleted the rows: forgetting, merging and evicting. The transaction must hold the exclusive lock of the
 * namespace.
 */
export async function countLeaving(queries: Queries, memories: readonly TierMember[]): Promise<void> {
  await countTiers(
    queries,
    memories.map((memory) => ({ ...memory, count: -1 })),
  );
  const sessions = new Map<string, SessionKey & { count: number }>();
  for (const { namespace, sessionId, userId } of memories) {
    if (sessionId === null) continue;
    const key = toKey({ namespace, sessionId, userId });
    sessions.set(key, { namespace, sessionId, userId, count: (sessions.get(key)?.count ?? 0) + 1 });
  }
  await subtractSessions(queries, inOrder(sessions));
}

async function subtractSessions(
  queries: Queries,
  sessions: readonly (SessionKey & { count: number })[],
): Promise<void> {
  if (sessions.length === 0) return;
  const { dialect } = queries;
  const records = dialect.records('removed', { ...SESSION_KEY, count: 'bigint' }, sessions);
  const key = sql`removed.namespace, removed."sessionId", removed."userId"`;
  await queries.run(sql`
    UPDATE session_count AS s SET count = s.count - removed.count FROM ${records}
    WHERE (s.namespace, s.session_id, s.user_id, s.slot) = (${key}, ${dialect.firstSlot})`);
  const deleted = await queries.rows<{ namespace: string; slot: number }>(sql`
    DELETE FROM session_count WHERE (namespace, session_id, user_id) IN (
      SELECT ${key} FROM ${records}
      WHERE (
        SELECT sum(s.count) FROM session_count s
        WHERE (s.namespace, s.session_id, s.user_id) = (${key})) = 0)
    RETURNING namespace, slot`);
  await countListed(queries, countDeleted(dialect, deleted, 'sessions'));
  for (const group of [
    sessions.filter(({ userId }) => userId === ''),
    sessions.filter(({ userId }) => userId !== ''),
  ]) {
    if (group.length > 0) await updateTimes(queries, group);
  }
}

/** Updates the first and last times of sessions. Either all of the sessions have a user, or none has. */
async function updateTimes(queries: Queries, sessions: readonly SessionKey[]): Promise<void> {
  const { dialect } = queries;
  const hasUser = sessions[0]?.userId !== '';
  const key = { namespace: raw('s.namespace'), sessionId: raw('s.session_id'), userId: raw('s.user_id'), hasUser };
  await queries.run(sql`
    UPDATE session_count AS s SET first_at = ${getTime(dialect, key, 'first')}, last_at = ${getTime(dialect, key, 'last')}
    WHERE (s.namespace, s.session_id, s.user_id) IN (
      SELECT namespace, "sessionId", "userId" FROM ${dialect.records('changed', SESSION_KEY, sessions)})`);
}

/**
 * Returns a subquery for the first or last creation time of the memories in the tiers of a session. The subquery reads
 * an index from one end, and skips memories that are in no tier or fail the condition.
 *
 * @param condition an additional condition on `memory m`
 */
export function getTime(
  { indexedBy }: Dialect,
  { namespace, sessionId, userId, hasUser }: Record<keyof SessionKey, Sql> & { hasUser: boolean },
  end: 'first' | 'last',
  condition: Sql = raw('true'),
): Sql {
  return sql`(
    SELECT m.created_at FROM memory m ${indexedBy(hasUser ? 'memory_by_user' : 'memory_by_session')}
    WHERE m.namespace = ${namespace} AND m.session_id = ${sessionId} AND m.user_id = ${userId}
      AND ${raw(hasUser ? "m.user_id <> ''" : 'true')} AND ${raw(IN_TIER)} AND ${condition}
    ORDER BY m.created_at ${raw(end === 'first' ? 'ASC' : 'DESC')} LIMIT 1)`;
}

/**
 * Registers the users of new memories. Every write that inserts memories must call `addUsers`, after `countEntering` and
 * before `countUsage`: transactions acquire row locks in this order.
 */
export async function addUsers(
  queries: Queries,
  memories: readonly { namespace: string; userId: string }[],
): Promise<void> {
  const users = getUsers(memories);
  if (users.length === 0) return;
  const { dialect } = queries;
  const created = await queries.rows<{ namespace: string }>(sql`
    INSERT INTO usage (namespace, user_id, slot, memories, bytes, users, sessions)
    SELECT namespace, "userId", ${dialect.firstSlot}, 0, 0, 0, 0
    FROM ${dialect.records('added', { namespace: 'text', userId: 'text' }, users)} WHERE true
    ORDER BY namespace, "userId"
    ON CONFLICT DO NOTHING RETURNING namespace`);
  await countListed(
    queries,
    created.map(({ namespace }) => ({ namespace, users: 1 })),
  );
}

/**
 * Deletes the counters of the users of deleted memories who have no memories left. The transaction must hold the
 * exclusive lock of the namespace.
 */
export async function removeUsers(
  queries: Queries,
  memories: readonly { namespace: string; userId: string }[],
): Promise<void> {
  const users = getUsers(memories);
  if (users.length === 0) return;
  const { dialect } = queries;
  const withoutMemories = sql`
    SELECT r.namespace, r."userId" FROM ${dialect.records('r', { namespace: 'text', userId: 'text' }, users)}
    WHERE NOT EXISTS (
      SELECT 1 FROM memory m WHERE m.namespace = r.namespace AND m.user_id = r."userId" AND m.user_id <> '')`;
  const deleted = await queries.rows<{ namespace: string; slot: number }>(sql`
    DELETE FROM usage WHERE (namespace, user_id) IN (${withoutMemories}) RETURNING namespace, slot`);
  if (deleted.length === 0) return;
  await queries.run(sql`DELETE FROM tier_count WHERE (namespace, user_id) IN (${withoutMemories})`);
  await countListed(queries, countDeleted(dialect, deleted, 'users'));
}

function getUsers(memories: readonly { namespace: string; userId: string }[]): { namespace: string; userId: string }[] {
  const users = memories.filter(({ userId }) => userId !== '').map(({ namespace, userId }) => ({ namespace, userId }));
  return inOrder(new Map(users.map((user) => [`${user.namespace}\0${user.userId}`, user])));
}

function countDeleted(
  { firstSlot }: Dialect,
  rows: readonly { namespace: string; slot: number }[],
  kind: 'users' | 'sessions',
) {
  return rows.filter(({ slot }) => slot === firstSlot).map(({ namespace }) => ({ namespace, [kind]: -1 }));
}

function toKey({ namespace, sessionId, userId }: SessionKey): string {
  return `${namespace}\0${sessionId}\0${userId}`;
}
