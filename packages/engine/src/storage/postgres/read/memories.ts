import type { Page, PageRequest, Position } from '../../../ports/page.ts';
import type { MemoryFilter, StoredMemory } from '../../../ports/storage-memories.ts';
import { isOpen } from '../../attributes.ts';
import { type MemoryRow, textBytes, toMemory } from '../../memory-row.ts';
import { takeMemories } from '../../page.ts';
import type { Queries } from '../connection.ts';
import { count } from '../count.ts';
import { liveAndPassing } from '../filter.ts';
import { MEMORY_COLUMNS, MEMORY_TABLES, notExpired } from '../row.ts';
import { sql } from '../sql.ts';
import { countLive } from './counts.ts';
import { readPage } from './page.ts';

/** See `Storage.memory`. */
export async function memory(
  queries: Queries,
  namespace: string,
  id: string,
  now: number,
): Promise<StoredMemory | undefined> {
  const row = await queries.row<MemoryRow>(sql`
    SELECT ${MEMORY_COLUMNS} FROM ${MEMORY_TABLES}
    WHERE m.namespace = ${namespace} AND m.id = ${id} AND m.evicted_at IS NULL AND ${notExpired(now)}`);
  return row && toMemory(row);
}

/** See `Storage.memories`. To be asked in a snapshot. */
export async function memories(
  queries: Queries,
  namespace: string,
  filter: MemoryFilter,
  page: PageRequest<Position>,
  now: number,
): Promise<Page<StoredMemory, Position>> {
  const passing = liveAndPassing(namespace, filter, now);
  const rows = await readPage(queries, passing, page, 'newest first');
  return takeMemories(rows, page, await countPassing(queries, namespace, filter, now), { placeOf: positionOf });
}

/** See `Storage.session`. To be asked in a snapshot. */
export async function session(
  queries: Queries,
  namespace: string,
  sessionId: string,
  page: PageRequest<Position>,
  now: number,
): Promise<Page<StoredMemory, Position>> {
  // Also what a maximum has evicted, until it is erased: nobody forgot it.
  const inTranscript = sql`m.namespace = ${namespace} AND m.session_id = ${sessionId} AND ${notExpired(now)}`;
  const total = await count(queries, sql`memory m WHERE ${inTranscript}`);
  const rows = await readPage(queries, inTranscript, page, 'oldest first');
  return takeMemories(rows, page, total, { placeOf: positionOf, bytesOf: textBytes });
}

async function countPassing(queries: Queries, namespace: string, filter: MemoryFilter, now: number): Promise<number> {
  if (isOpen(filter)) return countLive(queries, namespace, now);
  return count(queries, sql`memory m WHERE ${liveAndPassing(namespace, filter, now)}`);
}

function positionOf(memory: StoredMemory): Position {
  return { createdAt: memory.createdAt, ordinal: memory.ordinal };
}
