import type { Tier } from '@memoryd/contract';
import type { MemoryFilter, OwnerFilter } from '@memoryd/search';
import type { MemoryOutline, OutlinePage, ScopeState } from '../ports/storage-memories.ts';
import { toMoment } from '../validity.ts';
import { fromJson } from './corruption.ts';
import { isOfOwners, liveAndPassing, notExpired, unlessOfUsers } from './filters.ts';
import { fromIds } from './find-memory.ts';
import { fromMemory } from './known.ts';
import type { Queries } from './queries.ts';
import { isAfter } from './read-page.ts';
import { raw, sql } from './sql.ts';

/** Maximum bytes of a text whose beginning is read: a database may read a text as a whole to return its beginning. */
const MAX_TEXT_BYTES = 64 * 1024;

interface OutlineRow {
  ordinal: number;
  id: string;
  created_at: number;
  revision: number;
  tier: Tier;
  tags: string;
  session_id: string | null;
  user_id: string;
  agent_id: string;
  text: string;
}

/** See `Storage.outlines`. Must run in a snapshot. */
export async function outlines(
  queries: Queries,
  namespace: string,
  filter: MemoryFilter,
  { limit, after, textChars = 0 }: OutlinePage,
  now: number,
): Promise<MemoryOutline[]> {
  const { dialect } = queries;
  const memories = fromMemory(dialect, toMoment({ filter, now }));
  const createdAt = unlessOfUsers(dialect, filter, 'created_at');
  const place = isAfter(dialect, after, { of: filter, direction: 'desc' });
  const text =
    textChars > 0
      ? sql`CASE WHEN octet_length(m.content) <= ${MAX_TEXT_BYTES} THEN substr(m.content, 1, ${textChars}) ELSE '' END`
      : raw("''");
  const rows = await queries.rows<OutlineRow>(sql`
    WITH page AS MATERIALIZED (
      SELECT m.namespace, m.ordinal FROM ${memories}
      WHERE ${liveAndPassing(dialect, namespace, filter, now)} ${place}
      ORDER BY ${createdAt} DESC, m.ordinal DESC LIMIT ${limit})
    SELECT m.ordinal, m.id, m.created_at, m.revision, m.tier, m.tags, m.session_id, m.user_id, m.agent_id, ${text} AS text
    FROM page CROSS JOIN ${memories} WHERE m.namespace = page.namespace AND m.ordinal = page.ordinal
    ORDER BY m.created_at DESC, m.ordinal DESC`);
  return rows.map((row) => ({
    ordinal: row.ordinal,
    id: row.id,
    createdAt: row.created_at,
    revision: row.revision,
    tier: row.tier,
    tag: fromJson<string[]>(row.tags, 'the tags of memory', row.id)[0],
    sessionId: row.session_id,
    userId: row.user_id,
    agentId: row.agent_id,
    text: row.text,
  }));
}

/** See `Storage.scopeState`. */
export async function scopeState(
  queries: Queries,
  namespace: string,
  of: OwnerFilter,
  now: number,
): Promise<ScopeState> {
  const state = await queries.row<ScopeState>(sql`
    SELECT count(*) AS count, coalesce(max(m.ordinal), 0) AS "lastOrdinal", coalesce(max(m.updated_at), 0) AS "changedAt"
    FROM memory m WHERE ${liveAndPassing(queries.dialect, namespace, of, now)}`);
  return state ?? { count: 0, lastOrdinal: 0, changedAt: 0 };
}

/** See `Storage.revisions`. */
export async function revisions(
  queries: Queries,
  namespace: string,
  ids: readonly string[],
  of: OwnerFilter,
  now: number,
): Promise<Map<string, number>> {
  if (ids.length === 0) return new Map();
  const { dialect } = queries;
  const found = await queries.rows<{ id: string; revision: number }>(sql`
    SELECT m.id, m.revision FROM ${fromIds(dialect, namespace, ids)}
    WHERE m.evicted_at IS NULL AND ${notExpired(now)} AND ${isOfOwners(dialect, of)}`);
  return new Map(found.map(({ id, revision }) => [id, revision]));
}
