import type { Page, PageRequest, Position } from '../../../ports/page.ts';
import type { StoredMemory } from '../../../ports/storage-memories.ts';
import { type MemoryRow, textBytes } from '../../memory-row.ts';
import { takeMemories } from '../../page.ts';
import { type Connection, sql } from '../connection.ts';
import { MEMORY_COLUMNS, MEMORY_TABLES, NOT_EXPIRED } from '../row.ts';
import { positionOf } from './memories.ts';

// Also what a maximum has evicted, until it is erased: nobody forgot it.
const IN_TRANSCRIPT = `m.namespace = @namespace AND m.session_id = @sessionId AND ${NOT_EXPIRED}`;

/** See `Storage.session`. */
export function session(
  connection: Connection,
  namespace: string,
  sessionId: string,
  page: PageRequest<Position>,
  now: number,
): Page<StoredMemory, Position> {
  const values = { namespace, sessionId, now };
  const total = sql(connection, `SELECT count(*) FROM memory m WHERE ${IN_TRANSCRIPT}`).pluck().get(values) as number;
  const after = page.after ? 'AND (m.created_at, m.ordinal) > (@createdAt, @ordinal)' : '';
  const rows = sql(
    connection,
    `SELECT ${MEMORY_COLUMNS} FROM ${MEMORY_TABLES} WHERE ${IN_TRANSCRIPT} ${after}
     ORDER BY m.created_at, m.ordinal LIMIT @limit`,
  ).iterate({ ...values, ...page.after, limit: page.limit + 1 }) as Iterable<MemoryRow>;
  return takeMemories(rows, page, total, { placeOf: positionOf, bytesOf: textBytes });
}
