import type { Page, PageRequest, Position } from '../../../ports/page.ts';
import type { MemoryFilter, StoredMemory } from '../../../ports/storage-memories.ts';
import { isOpen } from '../../attributes.ts';
import { type MemoryRow, toMemory } from '../../memory-row.ts';
import { takeMemories } from '../../page.ts';
import { type Connection, sql } from '../connection.ts';
import { liveAndPassing } from '../filter.ts';
import { MEMORY_COLUMNS, MEMORY_TABLES, WITH_ACCESS } from '../row.ts';
import { countLive } from './counts.ts';

/** See `Storage.memory`. */
export function memory(connection: Connection, namespace: string, id: string, now: number): StoredMemory | undefined {
  const row = sql(
    connection,
    `SELECT ${MEMORY_COLUMNS} FROM ${MEMORY_TABLES}
     WHERE m.namespace = ? AND m.id = ? AND m.evicted_at IS NULL AND (m.expires_at IS NULL OR m.expires_at > ?)`,
  ).get(namespace, id, now) as MemoryRow | undefined;
  return row && toMemory(row);
}

/** See `Storage.memories`. */
export function memories(
  connection: Connection,
  namespace: string,
  filter: MemoryFilter,
  page: PageRequest<Position>,
  now: number,
): Page<StoredMemory, Position> {
  // Before the rows, which would stay open where this fails.
  const total = countPassing(connection, namespace, filter, now);
  const passing = liveAndPassing(namespace, filter, now);
  const before = page.after ? 'AND (m.created_at, m.ordinal) < (@createdAt, @ordinal)' : '';
  const rows = sql(
    connection,
    `SELECT ${MEMORY_COLUMNS} FROM ${passing.from} ${WITH_ACCESS} WHERE ${passing.where} ${before}
     ORDER BY m.created_at DESC, m.ordinal DESC LIMIT @limit`,
  ).iterate({ ...passing.values, ...page.after, limit: page.limit + 1 }) as Iterable<MemoryRow>;
  return takeMemories(rows, page, total, { placeOf: positionOf });
}

function countPassing(connection: Connection, namespace: string, filter: MemoryFilter, now: number): number {
  if (isOpen(filter)) return countLive(connection, namespace, now);
  const passing = liveAndPassing(namespace, filter, now);
  return sql(connection, `SELECT count(*) FROM ${passing.from} WHERE ${passing.where}`)
    .pluck()
    .get(passing.values) as number;
}

export function positionOf(memory: StoredMemory): Position {
  return { createdAt: memory.createdAt, ordinal: memory.ordinal };
}
