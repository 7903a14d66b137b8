import type { MemoryFilter, OwnerFilter } from '@memoryd/search';
import { isLimited } from '@memoryd/search';
import type { Page, PageRequest, SessionPlace, SessionSummaryRow } from '../ports/storage-memories.ts';
import { toMoment } from '../validity.ts';
import { IN_TIER, isOfOwners, isOfUsers, liveAndPassing, notExpired } from './filters.ts';
import { fromMemory } from './known.ts';
import { getTime } from './list-counters.ts';
import { count, type Dialect, type Queries } from './queries.ts';
import { raw, type Sql, sql } from './sql.ts';

type SessionPage = PageRequest<SessionPlace>;

/** See `Storage.sessions`. Must run in a snapshot. */
export async function sessions(
  queries: Queries,
  namespace: string,
  filter: MemoryFilter,
  page: SessionPage,
  now: number,
): Promise<Page<SessionSummaryRow, SessionPlace>> {
  const { rows, total } = isCounted(filter)
    ? await readCounted(queries, namespace, filter, page, now)
    : await countMatching(queries, namespace, filter, page, now);
  const items = rows.slice(0, page.limit);
  const last = items.at(-1);
  return rows.length > page.limit && last
    ? { items, total, next: { sessionId: last.sessionId, userId: last.userId } }
    : { items, total };
}

/** One more row than the page limit, if as many are left, and the number of all sessions. */
interface Listed {
  rows: SessionSummaryRow[];
  total: number;
}

/** Returns true if the stored counts of sessions answer the filter: it names only users and agents. */
export function isCounted({ userIds, agentIds, ...others }: MemoryFilter): boolean {
  return Object.values(others).every((condition) => condition === undefined);
}

/** Counts the memories that match the filter, by session. */
async function countMatching(
  queries: Queries,
  namespace: string,
  filter: MemoryFilter,
  { limit, after }: SessionPage,
  now: number,
): Promise<Listed> {
  const { dialect } = queries;
  const passing = liveAndPassing(dialect, namespace, filter, now);
  const listed = await queries.rows<{ sessions: number } & (SessionSummaryRow | { sessionId: null })>(sql`
    WITH session AS MATERIALIZED (
        SELECT m.session_id, m.user_id, count(*) AS total, min(m.created_at) AS first_at, max(m.created_at) AS last_at
        FROM ${fromMemory(dialect, toMoment({ filter, now }))} WHERE ${passing} AND ${dialect.unindexed(raw('m.session_id'))} IS NOT NULL
        GROUP BY ${dialect.unindexed(raw('m.session_id'))}, m.user_id),
      page AS (
        SELECT * FROM session WHERE ${isAfter(after)} ORDER BY session_id, user_id LIMIT ${limit + 1})
    SELECT counted.sessions, session_id AS "sessionId", user_id AS "userId", total, first_at AS "firstAt", last_at AS "lastAt"
    FROM (SELECT count(*) AS sessions FROM session) AS counted LEFT JOIN page ON true
    ORDER BY session_id, user_id`);
  const rows = listed.flatMap(({ sessions, ...row }) => (row.sessionId === null ? [] : [row]));
  return { rows, total: listed[0]?.sessions ?? 0 };
}

function isAfter(after: SessionPlace | undefined): Sql {
  return after ? sql`(session_id, user_id) > (${after.sessionId}, ${after.userId})` : raw('true');
}

/** The expired memories of a session that are not evicted yet. */
interface ExpiredGroup extends Omit<SessionSummaryRow, 'total'> {
  expired: number;
  /** Number of memories in the tiers, including the expired ones. */
  counted: number;
}

/** Maximum sessions per query, besides the page, while sessions are skipped whose memories have all expired. */
const MAX_SKIPPED_AT_ONCE = 1000;

/** Reads the stored counts of sessions, and subtracts expired memories. */
async function readCounted(
  queries: Queries,
  namespace: string,
  of: OwnerFilter,
  page: SessionPage,
  now: number,
): Promise<Listed> {
  const these = sql`m.namespace = ${namespace} AND ${isOfOwners(queries.dialect, of)}`;
  const expired = new Map((await readExpired(queries, these, now)).map((group) => [toKey(group), group]));
  const ended = [...expired.values()].filter((group) => group.expired === group.counted).length;
  const total = (await countSessions(queries, namespace, of, these)) - ended;
  const rows: SessionSummaryRow[] = [];
  const limit = page.limit + 1;
  const atOnce = limit + Math.min(ended, MAX_SKIPPED_AT_ONCE);
  let { after } = page;
  for (let isLast = false; rows.length < limit && !isLast; ) {
    const counted = await queries.rows<SessionSummaryRow>(sql`
      SELECT m.session_id AS "sessionId", m.user_id AS "userId", CAST(sum(m.count) AS bigint) AS total,
        min(m.first_at) AS "firstAt", max(m.last_at) AS "lastAt"
      ${fromCounts(queries.dialect, of, sql`${these} AND ${isAfter(after)}`)} ORDER BY m.session_id, m.user_id LIMIT ${atOnce}`);
    for (const row of counted) {
      if (rows.length === limit) break;
      const group = expired.get(toKey(row));
      if (group?.expired === row.total) continue;
      rows.push(group ? await withoutExpired(queries, these, row, group, now) : row);
    }
    after = counted.at(-1);
    isLast = counted.length < atOnce;
  }
  return { rows, total };
}

/** Returns the part of a statement from FROM on: the sessions with memories, from `session_count m`. */
function fromCounts(dialect: Dialect, of: OwnerFilter, condition: Sql): Sql {
  return sql`FROM ${counts(dialect, of)} WHERE ${condition} GROUP BY m.session_id, m.user_id ${havingMemories(of)}`;
}

function counts({ indexedBy }: Dialect, of: OwnerFilter): Sql {
  const index = isOfUsers(of) ? 'session_count_by_user' : isOfAgents(of) ? 'session_count_by_agent' : undefined;
  return sql`session_count m ${index === undefined ? raw('') : indexedBy(index)}`;
}

// Only rows with an empty agent may count nothing. Without the condition, an index answers the query alone.
function havingMemories(of: OwnerFilter): Sql {
  return raw(isOfAgents(of) ? '' : 'HAVING sum(m.count) > 0');
}

function isOfAgents({ agentIds }: OwnerFilter): boolean {
  return agentIds !== undefined && !agentIds.includes('');
}

async function countSessions(queries: Queries, namespace: string, of: OwnerFilter, these: Sql): Promise<number> {
  const { dialect } = queries;
  if (of.agentIds) return count(queries, sql`(SELECT 1 AS one ${fromCounts(dialect, of, these)}) AS session`);
  if (isLimited(of)) {
    const isFirst = sql`m.agent_id = '' AND m.slot = ${dialect.firstSlot}`;
    return count(queries, sql`${counts(dialect, of)} WHERE ${these} AND ${isFirst}`);
  }
  const counted = await queries.row<{ total: number }>(sql`
    SELECT CAST(coalesce(sum(sessions), 0) AS bigint) AS total FROM usage
    WHERE namespace = ${namespace} AND user_id = ''`);
  return counted?.total ?? 0;
}

/** Reads only expired memories that are not evicted yet. */
function readExpired({ dialect, rows }: Queries, these: Sql, now: number): Promise<ExpiredGroup[]> {
  return rows<ExpiredGroup>(sql`
    SELECT e.session_id AS "sessionId", e.user_id AS "userId", e.expired, e.first_at AS "firstAt", e.last_at AS "lastAt",
      (SELECT CAST(sum(m.count) AS bigint) FROM session_count m
       WHERE ${these} AND m.session_id = e.session_id AND m.user_id = e.user_id) AS counted
    FROM (
      SELECT m.session_id, m.user_id, count(*) AS expired, min(m.created_at) AS first_at, max(m.created_at) AS last_at
      FROM memory m ${dialect.indexedBy('memory_expiring')}
      WHERE ${these} AND m.expires_at <= ${now} AND ${raw(IN_TIER)} AND m.session_id IS NOT NULL
      GROUP BY m.session_id, m.user_id) AS e`);
}

/** Subtracts the expired memories of a session. Reads the first and last time again if an expired memory had it. */
async function withoutExpired(
  { dialect, row }: Queries,
  these: Sql,
  { sessionId, userId, total, firstAt, lastAt }: SessionSummaryRow,
  group: ExpiredGroup,
  now: number,
): Promise<SessionSummaryRow> {
  const condition = sql`${these} AND m.session_id = ${sessionId} AND m.user_id = ${userId} AND ${notExpired(now)}`;
  const read = async (end: 'first' | 'last', stored: number, ofExpired: number) => {
    if (stored !== ofExpired) return stored;
    const found = await row<{ at: number }>(sql`SELECT ${getTime(dialect, end, condition, userId !== '')} AS at`);
    return found?.at ?? stored;
  };
  return {
    ...{ sessionId, userId, total: total - group.expired },
    firstAt: await read('first', firstAt, group.firstAt),
    lastAt: await read('last', lastAt, group.lastAt),
  };
}

function toKey({ sessionId, userId }: SessionPlace): string {
  return `${sessionId}\0${userId}`;
}
