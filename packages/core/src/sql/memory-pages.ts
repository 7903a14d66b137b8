import type { Tier, TierCounts } from '@memoryd/contract';
import type { MemoryFilter, OwnerFilter } from '@memoryd/search';
import { isOpen } from '@memoryd/search';
import type {
  Page,
  PageRequest,
  Position,
  StoredMemory,
  TranscriptOptions,
  TurnPlace,
} from '../ports/storage-memories.ts';
import { type Moment, toMoment } from '../validity.ts';
import { isOne } from './filter-condition.ts';
import {
  ATTACHMENT,
  BEFORE_THE_LAST,
  IN_TIER,
  isOfOwners,
  isValid,
  liveAndPassing,
  MEMORY_TABLES,
  matching,
  memoryColumns,
  notExpired,
  unlessOfUsers,
  WITH_ACCESS,
} from './filters.ts';
import { fromMemory } from './known.ts';
import { type MemoryRow, takeMemories, textBytes, toMemory } from './memory-row.ts';
import { count, type Dialect, type Queries } from './queries.ts';
import { join, raw, type Sql, sql } from './sql.ts';
import { countLive, noCounts } from './usage.ts';
import { getSupersededBy } from './validity.ts';

/** See `Storage.memory`. */
export async function memory(
  queries: Queries,
  namespace: string,
  id: string,
  now: number,
  of: OwnerFilter = {},
): Promise<StoredMemory | undefined> {
  const row = await queries.row<MemoryRow>(sql`
    SELECT ${memoryColumns(queries.dialect, getSupersededBy(queries.dialect, { at: now, now }))} FROM ${MEMORY_TABLES}
    WHERE m.namespace = ${namespace} AND m.id = ${id} AND m.evicted_at IS NULL AND ${notExpired(now)}
      AND ${isOfOwners(queries.dialect, of)}`);
  return row && toMemory(row);
}

/** See `Storage.memories`. Must run in a snapshot. */
export async function memories(
  queries: Queries,
  namespace: string,
  filter: MemoryFilter,
  page: PageRequest<Position>,
  now: number,
): Promise<Page<StoredMemory, Position>> {
  const passing = liveAndPassing(queries.dialect, namespace, filter, now);
  const moment = toMoment({ filter, now });
  const rows = await readPage(queries, passing, page, { of: filter, moment, direction: 'newest first' });
  return takeMemories(rows, page, await countPassing(queries, namespace, filter, now), { getPlace: toPosition });
}

/** Returns a query for the ordinals of the standing notes of some users, in the words of the index `memory_standing`. */
function standingNotes(dialect: Dialect, namespace: string, { userIds }: OwnerFilter): Sql {
  const isOfUser = userIds ? sql`AND ${isOne(dialect, raw('m.user_id'), userIds)}` : raw('');
  return sql`SELECT m.ordinal FROM memory m
    WHERE m.namespace = ${namespace} ${isOfUser} AND m.importance >= 0.9 AND ${raw(IN_TIER)}`;
}

/** See `Storage.newest`. Must run in a snapshot. */
export async function newest(
  queries: Queries,
  namespace: string,
  filter: MemoryFilter,
  page: PageRequest<Position>,
  now: number,
  isStanding = false,
): Promise<StoredMemory[]> {
  const among = isStanding ? standingNotes(queries.dialect, namespace, filter) : undefined;
  const passing = liveAndPassing(queries.dialect, namespace, filter, now, among);
  const moment = toMoment({ filter, now });
  const rows = await readPage(queries, passing, page, { of: filter, moment, direction: 'newest first' });
  return takeMemories(rows, page, 0, { getPlace: toPosition }).items;
}

/** See `Storage.turnsBefore`. Must run in a snapshot. */
export async function turnsBefore(
  queries: Queries,
  namespace: string,
  turns: readonly TurnPlace[],
  maxBytes: number,
  now: number,
): Promise<(StoredMemory | undefined)[]> {
  const found: (StoredMemory | undefined)[] = [];
  for (const { sessionId, userId, agentId, createdAt, ordinal } of turns) {
    const inSession = { sessionId, userIds: [userId], agentIds: [agentId] };
    const page = { limit: 1, maxBytes, after: { createdAt, ordinal } };
    const [before] = await newest(queries, namespace, inSession, page, now);
    found.push(before);
  }
  return found;
}

/** See `Storage.growth`. */
export async function growth(
  queries: Queries,
  namespace: string,
  filter: MemoryFilter,
  moments: readonly number[],
  now: number,
): Promise<TierCounts[]> {
  const columns = moments.map((at, i) => sql`count(*) FILTER (WHERE m.created_at <= ${at}) AS ${raw(`"${i}"`)}`);
  const rows = await queries.rows<{ tier: Tier } & Record<number, number>>(sql`
    SELECT m.tier, ${join(columns, ', ')} FROM ${fromMemory(queries.dialect, toMoment({ filter, now }))}
    WHERE ${liveAndPassing(queries.dialect, namespace, filter, now)} GROUP BY m.tier`);
  return moments.map((_, i) => {
    const counts = noCounts();
    for (const row of rows) counts[`${row.tier}_count`] = row[i] ?? 0;
    return counts;
  });
}

/** See `Storage.session`. Must run in a snapshot. */
export async function session(
  queries: Queries,
  namespace: string,
  sessionId: string,
  page: PageRequest<Position>,
  now: number,
  of: OwnerFilter = {},
  { attachments = false, ...selected }: TranscriptOptions = {},
): Promise<Page<StoredMemory, Position>> {
  // Includes evicted memories until they are deleted: eviction removes a memory from recall, not from transcripts.
  const filter = { ...of, ...selected, sessionId };
  const moment = toMoment({ filter, now });
  const { dialect } = queries;
  const conditions = [matching(dialect, namespace, filter, moment), notExpired(now), isValid(dialect, filter, now)];
  const inTranscript = join(conditions, ' AND ');
  const total = await count(queries, sql`${fromMemory(dialect, moment)} WHERE ${inTranscript}`);
  const rows = await readPage(queries, inTranscript, page, { of, moment, direction: 'oldest first', attachments });
  return takeMemories(rows, page, total, { getPlace: toPosition, getBytes: textBytes });
}

async function countPassing(queries: Queries, namespace: string, filter: MemoryFilter, now: number): Promise<number> {
  if (isOpen(filter)) return countLive(queries, namespace, now);
  const memories = fromMemory(queries.dialect, toMoment({ filter, now }));
  return count(queries, sql`${memories} WHERE ${liveAndPassing(queries.dialect, namespace, filter, now)}`);
}

function toPosition({ createdAt, ordinal }: StoredMemory): Position {
  return { createdAt, ordinal };
}

/** How a page of memories is read. `superseded_by` is that of the moment. */
interface Reading {
  of: OwnerFilter;
  moment: Moment;
  direction: 'oldest first' | 'newest first';
  attachments?: boolean;
}

/**
 * Reads the memories that meet a condition on `memory m`, ordered by (createdAt, ordinal), after a position. Reads at
 * most one row more than the page limit, and only as much text as the page can hold, because the texts of ten thousand
 * memories could exhaust the memory of the process.
 */
function readPage(
  { dialect, rows }: Queries,
  condition: Sql,
  { limit, maxBytes, after }: PageRequest<Position>,
  { of, moment, direction, attachments = false }: Reading,
): Promise<MemoryRow[]> {
  const memories = fromMemory(dialect, moment);
  const order = raw(direction === 'oldest first' ? 'ASC' : 'DESC');
  const beyond = raw(direction === 'oldest first' ? '>' : '<');
  const createdAt = unlessOfUsers(dialect, of, 'created_at');
  const place = after
    ? sql`AND (${createdAt}, m.ordinal) ${beyond} (CAST(${after.createdAt} AS bigint), CAST(${after.ordinal} AS bigint))`
    : raw('');
  const bytes = raw(`octet_length(m.content)${attachments ? ' + m.attachment_bytes' : ''}`);
  return rows<MemoryRow>(sql`
    WITH page AS MATERIALIZED (
        SELECT m.namespace, m.ordinal, m.created_at, ${bytes} AS bytes FROM ${memories}
        WHERE ${condition} ${place}
        ORDER BY ${createdAt} ${order}, m.ordinal ${order} LIMIT ${limit + 1}),
      sized AS (
        SELECT *, sum(bytes) OVER (ORDER BY created_at ${order}, ordinal ${order} ${BEFORE_THE_LAST}) AS before FROM page)
    SELECT ${memoryColumns(dialect, getSupersededBy(dialect, moment), moment)}${attachments ? sql`, ${ATTACHMENT}` : raw('')}
    FROM sized CROSS JOIN ${memories} ${WITH_ACCESS}
    WHERE m.namespace = sized.namespace AND m.ordinal = sized.ordinal AND coalesce(sized.before, 0) <= ${maxBytes}
    ORDER BY m.created_at ${order}, m.ordinal ${order}`);
}
