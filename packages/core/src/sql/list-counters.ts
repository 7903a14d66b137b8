import type { Tier } from '@memoryd/contract';
import type { Owner } from '@memoryd/search';
import { countListed, countTiers, inOrder } from './counters.ts';
import { IN_TIER } from './filters.ts';
import type { Dialect, Queries } from './queries.ts';
import { raw, type Sql, sql } from './sql.ts';

/** A memory that enters or leaves the tiers. `sessionId` is null for a memory without a session. */
export interface TierMember extends Owner {
  namespace: string;
  sessionId: string | null;
  tier: Tier;
}

/** The columns of a `TierMember`, selected from `memory`. */
export const TIER_MEMBER = raw(
  'namespace, user_id AS "userId", agent_id AS "agentId", session_id AS "sessionId", tier',
);

/** The memories that an agent has in a session of a user. */
interface SessionChange extends Owner {
  namespace: string;
  sessionId: string;
  count: number;
  firstAt: number | null;
  lastAt: number | null;
}

const SESSION_KEY = { namespace: 'text', sessionId: 'text', userId: 'text', agentId: 'text' } as const;
const SESSION_COLUMNS = {
  namespace: 'text',
  session_id: 'text',
  user_id: 'text',
  agent_id: 'text',
  count: 'bigint',
  first_at: 'bigint',
  last_at: 'bigint',
} as const;

const FIRST_SESSION = {
  namespace: 'text',
  session_id: 'text',
  user_id: 'text',
  agent_id: 'text',
  slot: 'integer',
  count: 'bigint',
} as const;
const FIRST_USAGE = {
  namespace: 'text',
  user_id: 'text',
  slot: 'integer',
  memories: 'bigint',
  bytes: 'bigint',
  users: 'bigint',
  sessions: 'bigint',
} as const;

/**
 * Counts memories that enter the tiers, by tier and session. Every such write must call `countEntering`: storing,
 * importing, and undoing a merge or an eviction.
 *
 * @returns the memories that may be the first of their user: those without a session, or with a new session
 */
export async function countEntering<Memory extends TierMember & { createdAt: number }>(
  queries: Queries,
  memories: readonly Memory[],
): Promise<readonly Memory[]> {
  await countTiers(
    queries,
    memories.map((memory) => ({ ...memory, count: 1 })),
  );
  const sessions = groupBySession(memories, (session, { createdAt }) => {
    session.count++;
    session.firstAt = Math.min(session.firstAt ?? createdAt, createdAt);
    session.lastAt = Math.max(session.lastAt ?? createdAt, createdAt);
  });
  if (sessions.length === 0) return memories;
  const { firstSlot, least, greatest } = queries.dialect;
  const created = await queries.insertMissing(
    'session_count',
    FIRST_SESSION,
    sessions.map(({ namespace, sessionId, userId }) => ({
      ...{ namespace, session_id: sessionId, user_id: userId, agent_id: '' },
      ...{ slot: firstSlot, count: 0 },
    })),
  );
  await addSessions(
    queries,
    sessions,
    sql`, first_at = ${least}(coalesce(session_count.first_at, excluded.first_at), excluded.first_at),
      last_at = ${greatest}(coalesce(session_count.last_at, excluded.last_at), excluded.last_at)`,
  );
  await countListed(
    queries,
    created.map((session) => ({ namespace: session.namespace as string, sessions: 1 })),
  );
  const newKeys = new Set(created.map((session) => `${session.namespace}\0${session.session_id}\0${session.user_id}`));
  return memories.filter(
    ({ namespace, sessionId, userId }) => sessionId === null || newKeys.has(`${namespace}\0${sessionId}\0${userId}`),
  );
}

/** Groups memories with a session by session, user and agent, sorted by these. */
function groupBySession<Memory extends TierMember>(
  memories: readonly Memory[],
  add: (session: SessionChange, memory: Memory) => void,
): SessionChange[] {
  const sessions = new Map<string, SessionChange>();
  for (const memory of memories) {
    const { namespace, sessionId, userId, agentId } = memory;
    if (sessionId === null) continue;
    const key = `${namespace}\0${sessionId}\0${userId}\0${agentId}`;
    let session = sessions.get(key);
    if (!session) {
      session = { namespace, sessionId, userId, agentId, count: 0, firstAt: null, lastAt: null };
      sessions.set(key, session);
    }
    add(session, memory);
  }
  return inOrder(sessions);
}

/** @param times assignments of the times, after the assignment of the count */
function addSessions(queries: Queries, sessions: readonly SessionChange[], times: Sql): Promise<void> {
  return queries.insert(
    'session_count',
    SESSION_COLUMNS,
    sessions.map(({ namespace, sessionId, userId, agentId, count, firstAt, lastAt }) => ({
      ...{ namespace, session_id: sessionId, user_id: userId, agent_id: agentId },
      ...{ count, first_at: firstAt, last_at: lastAt },
    })),
    sql`ON CONFLICT (namespace, session_id, user_id, agent_id, slot) DO UPDATE SET
      count = session_count.count + excluded.count ${times}`,
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
  const sessions = groupBySession(memories, (session) => session.count--);
  if (sessions.length === 0) return;
  await addSessions(queries, sessions, raw(''));
  await deleteEmptySessions(queries, sessions);
  for (const hasUser of [false, true]) {
    const changed = sessions.filter(({ userId }) => (userId !== '') === hasUser);
    if (changed.length > 0) await updateTimes(queries, changed, hasUser);
  }
}

async function deleteEmptySessions(queries: Queries, sessions: readonly SessionChange[]): Promise<void> {
  const { firstSlot } = queries.dialect;
  const records = queries.dialect.records('r', SESSION_KEY, sessions);
  const isOfSession = sql`(s.namespace, s.session_id, s.user_id) = (r.namespace, r."sessionId", r."userId")`;
  const deleted = await queries.rows<{ namespace: string; agentId: string; slot: number }>(sql`
    DELETE FROM session_count WHERE (namespace, session_id, user_id) IN (
      SELECT r.namespace, r."sessionId", r."userId" FROM ${records}
      WHERE (SELECT sum(s.count) FROM session_count s WHERE ${isOfSession}) = 0)
    RETURNING namespace, agent_id AS "agentId", slot`);
  await countListed(
    queries,
    deleted
      .filter(({ agentId, slot }) => agentId === '' && slot === firstSlot)
      .map(({ namespace }) => ({ namespace, sessions: -1 })),
  );
  await queries.run(sql`
    DELETE FROM session_count
    WHERE (namespace, session_id, user_id, agent_id) IN (
      SELECT r.namespace, r."sessionId", r."userId", r."agentId" FROM ${records}
      WHERE (SELECT sum(s.count) FROM session_count s WHERE ${isOfSession} AND s.agent_id = r."agentId") = 0)
      AND NOT (agent_id = '' AND slot = ${firstSlot})`);
}

/** Updates the first and last times of sessions. Either all of the sessions have a user, or none has. */
async function updateTimes(queries: Queries, sessions: readonly SessionChange[], hasUser: boolean): Promise<void> {
  const { dialect } = queries;
  const session = sql`m.namespace = s.namespace AND m.session_id = s.session_id AND m.user_id = s.user_id
    AND m.agent_id = s.agent_id`;
  await queries.run(sql`
    UPDATE session_count AS s SET first_at = ${getTime(dialect, 'first', session, hasUser)},
      last_at = ${getTime(dialect, 'last', session, hasUser)}
    WHERE (s.namespace, s.session_id, s.user_id, s.agent_id) IN (
      SELECT namespace, "sessionId", "userId", "agentId" FROM ${dialect.records('changed', SESSION_KEY, sessions)})`);
}

/**
 * Returns a subquery for the first or last creation time of the memories in the tiers of a session of one user. The
 * subquery reads an index from one end, and skips memories that are in no tier or fail the condition.
 *
 * @param condition a condition on `memory m`, with the namespace, the session and the user
 */
export function getTime({ indexedBy }: Dialect, end: 'first' | 'last', condition: Sql, hasUser: boolean): Sql {
  return sql`(
    SELECT m.created_at FROM memory m ${indexedBy(hasUser ? 'memory_by_user' : 'memory_by_session')}
    WHERE ${condition} AND ${raw(hasUser ? "m.user_id <> ''" : 'true')} AND ${raw(IN_TIER)}
    ORDER BY m.created_at ${raw(end === 'first' ? 'ASC' : 'DESC')} LIMIT 1)`;
}

/**
 * Registers the users of new memories. Every write that inserts memories must call `addUsers`, after `countEntering` and
 * before `countUsage`: transactions acquire row locks in this order. Memories whose user is known may be omitted.
 */
export async function addUsers(
  queries: Queries,
  memories: readonly { namespace: string; userId: string }[],
): Promise<void> {
  const users = getUsers(memories);
  if (users.length === 0) return;
  const nothing = { memories: 0, bytes: 0, users: 0, sessions: 0 };
  const created = await queries.insertMissing(
    'usage',
    FIRST_USAGE,
    users.map(({ namespace, userId }) => ({ namespace, user_id: userId, slot: queries.dialect.firstSlot, ...nothing })),
  );
  await countListed(
    queries,
    created.map((user) => ({ namespace: user.namespace as string, users: 1 })),
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
  await countListed(
    queries,
    deleted.filter(({ slot }) => slot === dialect.firstSlot).map((user) => ({ namespace: user.namespace, users: -1 })),
  );
}

function getUsers(memories: readonly { namespace: string; userId: string }[]): { namespace: string; userId: string }[] {
  const users = memories.filter(({ userId }) => userId !== '').map(({ namespace, userId }) => ({ namespace, userId }));
  return inOrder(new Map(users.map((user) => [`${user.namespace}\0${user.userId}`, user])));
}
