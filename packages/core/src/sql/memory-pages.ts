import type { Tier, TierCounts } from '@memoryd/contract';
import { LIMITS } from '@memoryd/contract/limits';
import type { MemoryFilter, OwnerFilter } from '@memoryd/search';
import { getRetention, isOpen, type Retainable } from '@memoryd/search';
import type {
  ListOrder,
  MemoryPage,
  Page,
  PageRequest,
  Position,
  StoredMemory,
  TranscriptOptions,
  TurnPlace,
} from '../ports/storage-memories.ts';
import { toMoment } from '../validity.ts';
import { isOne } from './filter-condition.ts';
import {
  IN_TIER,
  isOfOwners,
  isValid,
  liveAndPassing,
  MEMORY_TABLES,
  matching,
  memoryColumns,
  notExpired,
  RETAINABLE_COLUMNS,
  unlessOfUsers,
  WITH_ACCESS,
} from './filters.ts';
import { fromMemory } from './known.ts';
import { type MemoryRow, takeMemories, textBytes, toMemory } from './memory-row.ts';
import { type CountedReading, findByWords, readByWords } from './pages-by-words.ts';
import { count, type Dialect, type Queries } from './queries.ts';
import { readOrdinals, readPage, toOrder } from './read-page.ts';
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

const NEWEST_FIRST: ListOrder = { by: 'created', direction: 'desc', offset: 0 };
const OLDEST_FIRST: ListOrder = { ...NEWEST_FIRST, direction: 'asc' };

/** See `Storage.memories`. Must run in a snapshot. */
export async function memories(
  queries: Queries,
  namespace: string,
  filter: MemoryFilter,
  page: PageRequest<Position>,
  now: number,
  order: ListOrder = NEWEST_FIRST,
): Promise<MemoryPage> {
  const moment = toMoment({ filter, now });
  const { maxCounted = LIMITS.countedMemories } = order;
  const reading = { of: filter, moment, order, maxCounted };
  const { words } = filter;
  // The words of earlier texts are not stored.
  const byWords = words && moment.known === undefined ? { ...filter, words } : undefined;
  const found = byWords && (await findByWords(queries, namespace, byWords, now, maxCounted));
  const total = found?.total ?? (await countPassing(queries, namespace, filter, now));
  const passing = found?.passing ?? liveAndPassing(queries.dialect, namespace, filter, now);
  const isPartial = total > maxCounted;
  const counted = found && isPartial ? { countedCount: maxCounted } : undefined;
  const takePage = (rows: readonly MemoryRow[]) =>
    takeMemories(rows, page, counted?.countedCount ?? total, { getPlace: toPosition });
  if (order.by === 'use' || order.by === 'retention') {
    const rows = await readRanked(queries, namespace, passing, page, reading);
    return { ...takePage(rows), ...counted, ...(isPartial && { orderedCount: maxCounted }) };
  }
  const rows = found
    ? await readByWords(queries, namespace, { filter: byWords, found }, page, reading)
    : await readPage(queries, passing, page, reading);
  return { ...takePage(rows), ...counted };
}

/** Returns a query for the ordinals of the standing notes of some users, in the words of the index `memory_standing`. */
function standingNotes(dialect: Dialect, namespace: string, { userIds }: OwnerFilter): Sql {
  const isOfUser = userIds ? sql`AND ${isOne(dialect, raw('m.user_id'), userIds)}` : raw('');
  return sql`SELECT m.ordinal FROM memory m ${dialect.indexedBy('memory_standing')}
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
  const rows = await readPage(queries, passing, page, { of: filter, moment, order: NEWEST_FIRST });
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
  const rows = await readPage(queries, inTranscript, page, { of, moment, order: OLDEST_FIRST, attachments });
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

/** A memory with the fields by which it is ordered. */
interface RankedRow extends Position, Retainable {}

/**
 * Reads a page of the newest memories that meet a condition on `memory m`, ordered by use or retention. See `readPage`.
 */
async function readRanked(
  queries: Queries,
  namespace: string,
  condition: Sql,
  { limit, maxBytes }: PageRequest<Position>,
  { of, moment, order: { by, direction, offset }, maxCounted }: CountedReading,
): Promise<MemoryRow[]> {
  const { dialect } = queries;
  const createdAt = unlessOfUsers(dialect, of, 'created_at');
  const newest = (columns: Sql) => sql`
    SELECT m.ordinal, m.created_at AS "createdAt", ${columns} FROM ${fromMemory(dialect, moment)} ${WITH_ACCESS}
    WHERE ${condition} ORDER BY ${createdAt} DESC, m.ordinal DESC LIMIT ${maxCounted}`;
  if (by === 'use') {
    const inOrder = toOrder([raw('uses'), raw('"createdAt"'), raw('ordinal')], direction);
    const rows = await queries.rows<{ ordinal: number }>(sql`
      SELECT ordinal FROM (${newest(raw('coalesce(c.count, 0) AS uses'))}) AS newest
      ORDER BY ${inOrder} LIMIT ${limit + 1} OFFSET ${offset}`);
    return readOrdinals(queries, namespace, toOrdinals(rows), maxBytes, moment);
  }
  const rows = await queries.rows<RankedRow>(newest(RETAINABLE_COLUMNS));
  const sign = direction === 'asc' ? 1 : -1;
  const ranked = rows.map((row) => ({ row, key: sign * getRetention(row, moment.now) }));
  // Sorting numbers takes much less time than sorting rows.
  const keys = Float64Array.from(ranked, ({ key }) => key).sort();
  const last = keys[Math.min(offset + limit, keys.length - 1)] ?? 0;
  const first = ranked.filter(({ key }) => key <= last);
  first.sort(
    (one, other) =>
      one.key - other.key || sign * (one.row.createdAt - other.row.createdAt || one.row.ordinal - other.row.ordinal),
  );
  const ordinals = first.slice(offset, offset + limit + 1).map(({ row }) => row.ordinal);
  return readOrdinals(queries, namespace, ordinals, maxBytes, moment);
}

function toOrdinals(rows: readonly { ordinal: number }[]): number[] {
  return rows.map(({ ordinal }) => ordinal);
}
